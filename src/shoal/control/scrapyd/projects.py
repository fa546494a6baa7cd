"""Projects, their versions and spiders: list, add and delete them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any
from zipfile import is_zipfile

from shoal.control.async_bridge import bridge
from shoal.control.problems import Problem
from shoal.control.scrapyd.arguments import FORM_BYTES, Arguments
from shoal.control.scrapyd.calls import ADMIN, READ, Calls
from shoal.control.scrapyd.known_projects import declared, find_project, project_names
from shoal.control.scrapyd.spider_lists import spiders_of_package
from shoal.errors import UsageError
from shoal.fleet.scheduled_projects import check_unscheduled
from shoal.fleet.scrapy_versions import find_version, sorted_versions
from shoal.store.fleet.scrapy_projects import remove_versions, save_version

calls = Calls("scrapyd_projects")
PACKAGE_BYTES = 32 << 20
_BODY_BYTES = 3 * PACKAGE_BYTES + FORM_BYTES
"""A client may encode each byte as three."""
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")


@calls.get("/listprojects.json", READ)
def listprojects(given: Arguments) -> Mapping[str, Any]:
    return {"projects": project_names()}


@calls.get("/listversions.json", READ)
def listversions(given: Arguments) -> Mapping[str, Any]:
    return {"versions": [one.version for one in sorted_versions(bridge().store, given.required("project"))]}


@calls.get("/listspiders.json", READ)
def listspiders(given: Arguments) -> Mapping[str, Any]:
    return {"spiders": list(find_project(given.required("project"), given.optional("_version")).spiders())}


@calls.post("/addversion.json", ADMIN, _BODY_BYTES)
def addversion(given: Arguments) -> Mapping[str, Any]:
    project, version = _name(given, "project"), _name(given, "version")
    package = given.file("egg")
    if not bridge().settings.scrapy_uploads:
        raise Problem(403, "uploads are off: the operator allows them with SHOAL_SCRAPY_UPLOADS=on, at the workers too")
    _check_undeclared(project)
    if package.seek(0, os.SEEK_END) > PACKAGE_BYTES:
        raise Problem(413, f"the egg is larger than {PACKAGE_BYTES >> 20} MB")
    if not is_zipfile(package):
        raise UsageError("egg is not a ZIP file (if using curl, use egg=@path not egg=path)")
    package.seek(0)
    content = package.read()
    spiders = spiders_of_package(content)
    save_version(bridge().store, project, version, content, spiders, time.time())
    return {"spiders": len(spiders)}


@calls.post("/delversion.json", ADMIN)
def delversion(given: Arguments) -> Mapping[str, Any]:
    project, version = given.required("project"), given.required("version")
    _check_undeclared(project)
    find_version(bridge().store, project, version)
    check_unscheduled(bridge().store, project, version)
    if not remove_versions(bridge().store, project, version, time.time()):
        raise UsageError(f"version '{version}' not found")
    return {}


@calls.post("/delproject.json", ADMIN)
def delproject(given: Arguments) -> Mapping[str, Any]:
    project = given.required("project")
    _check_undeclared(project)
    check_unscheduled(bridge().store, project, None)
    if not remove_versions(bridge().store, project, None, time.time()):
        raise UsageError(f"project '{project}' not found")
    return {}


def _name(given: Arguments, parameter: str) -> str:
    name = given.required(parameter)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{parameter} is invalid: give 1 to 200 characters without slashes and control characters")
    return name


def _check_undeclared(project: str) -> None:
    if project in declared():
        raise UsageError(f"project '{project}' is the operator's own (SHOAL_SCRAPY_PROJECTS), and has no versions")
