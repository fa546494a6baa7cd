"""Scrapy projects as scrapyd-deploy packs them: an egg or a wheel, which are zip files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

ENTRY = "[scrapy]\nsettings = {}\n"
SPIDER = """
import scrapy

class {title}(scrapy.Spider):
    name = "{name}"
    start_urls = ["http://x.example/"]
"""


def packed(files: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # With the same date, so that the same files are the same egg.
            archive.writestr(zipfile.ZipInfo(name), text)
    return file.getvalue()


def project_files(*spiders: str, package: str = "news", code: str = "") -> dict[str, str]:
    """`code` is at the start of the module of the spiders."""
    classes = "".join(SPIDER.format(title=name.title(), name=name) for name in spiders)
    settings = f'BOT_NAME = "{package}"\nSPIDER_MODULES = ["{package}.spiders"]\n'
    return {f"{package}/__init__.py": "", f"{package}/settings.py": settings, f"{package}/spiders.py": code + classes}


def egg(*spiders: str, package: str = "news", code: str = "") -> bytes:
    entry = {"EGG-INFO/entry_points.txt": ENTRY.format(f"{package}.settings")}
    return packed({**project_files(*spiders, package=package, code=code), **entry})


def wheel(*spiders: str) -> bytes:
    return packed({**project_files(*spiders), "news-1.0.dist-info/entry_points.txt": ENTRY.format("news.settings")})


def egg_of_folder(folder: Path, settings: str) -> bytes:
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}
    return packed({**files, "EGG-INFO/entry_points.txt": ENTRY.format(settings)})
