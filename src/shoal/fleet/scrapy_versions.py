"""Versions of uploaded Scrapy projects: finds the one that is meant."""

from __future__ import annotations

from shoal.errors import UsageError
from shoal.store.fleet.scrapy_projects import ProjectVersion, versions_of
from shoal.store.store import Store


def sorted_versions(store: Store, project: str) -> list[ProjectVersion]:
    """The latest last: by PEP 440 if all are such, else by their text, as scrapyd does."""
    from packaging.version import InvalidVersion, Version

    found = versions_of(store, project)
    try:
        return sorted(found, key=lambda one: Version(one.version))
    except InvalidVersion:
        return sorted(found, key=lambda one: one.version)


def find_version(store: Store, project: str, version: str | None) -> ProjectVersion:
    """The latest if none is given. Raises UsageError, in scrapyd's words."""
    versions = sorted_versions(store, project)
    if not versions:
        raise UsageError(f"project '{project}' not found")
    found = next((one for one in reversed(versions) if one.version == version or not version), None)
    if found is None:
        raise UsageError(f"version '{version}' not found")
    return found
