"""Writes the archived pages of a job as files that a browser shows without the site, as `wget -r -k -p` does.

Links between the files are relative, all others absolute. A page that moved is linked where it is now.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urldefrag

from shoal.errors import InvalidURL, UsageError
from shoal.extract.document import Document
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.page import MAX_HTML_BYTES
from shoal.extract.rewrite_css import rewrite_css
from shoal.extract.rewrite_html import base_href, rewrite_html
from shoal.extract.url_join import join
from shoal.fetch.charset import to_utf8
from shoal.jobs.deployment import Deployment
from shoal.jobs.mirror_paths import folders_of, mirror_paths
from shoal.jobs.read_archived import read_archived
from shoal.jobs.reextraction_process import is_wanted
from shoal.model import PageRecord
from shoal.store.archive.segment_table import require_segments
from shoal.store.jobs import Job
from shoal.store.results.listings import (
    extractable_depths,
    extractable_pages,
    pages_without_body,
    redirect_targets,
)
from shoal.urls import Params, canonical, fingerprint

_UNQUOTED = "/@!$&'()*+,;=~-._"


class Mirrored(NamedTuple):
    files: int
    left_out: int
    """Pages that the archive does not have."""
    first: str
    """The path of the page that was fetched first."""


def write_mirror(place: Deployment, job: Job, folder: Path, overwrite: bool) -> Mirrored:
    """Raises UsageError if the job has no archived page, and for a folder that has files unless `overwrite`."""
    files = _files(place, job)
    if not files:
        raise UsageError(
            f"job {job.id} has no page in the archive: it was crawled with --no-archive or beyond "
            "--max-archive-bytes, or found no page; crawl it again"
        )
    require_segments(place.store, place.archive, job.id)
    links = _Links(_with_redirects(place, job, files), Params.of(job.spec))
    first_at, first = float("inf"), ""
    with _new_folder(folder, overwrite) as root:
        for path in sorted(folders_of(files.values())):
            (root / path).mkdir(parents=True, exist_ok=True)
        for page in _pages(place, job):
            # A running job may have got further pages meanwhile.
            if (path := files.get(page.fingerprint, "")) != "":
                (root / path).write_bytes(_content(place, page, path, links))
                first_at, first = min((first_at, first), (page.fetched_at, path))
    return Mirrored(len(files), pages_without_body(place.store, job.id), first)


def _files(place: Deployment, job: Job) -> dict[int, str]:
    """Fingerprint -> path. Only these are kept for all pages: their records are read twice."""
    pages = {page.url: (page.fingerprint, page.content_type) for page in _pages(place, job)}
    paths = mirror_paths({url: media_type for url, (_, media_type) in pages.items()})
    return {fingerprint: paths[url] for url, (fingerprint, _) in pages.items()}


def _with_redirects(place: Deployment, job: Job, files: dict[int, str]) -> dict[int, str]:
    moved = {source: files[target] for source, target in _redirects(place, job) if target in files}
    return {**moved, **files}


class _Links:
    """Turns the URLs of pages into links to their files."""

    def __init__(self, files: dict[int, str], params: Params) -> None:
        self._files = files
        self._params = params

    def rewritten(self, link: str, base_url: str, here: str) -> str:
        """`here` is the path of the file that has the link."""
        if link.startswith("#"):
            return link
        try:
            absolute = join(base_url, link)
        except ValueError:
            return link
        if not absolute.startswith(("http://", "https://")):
            return link
        url, fragment = urldefrag(absolute)
        there = self._file_of(url)
        if there is None:
            return absolute
        to = quote(posixpath.relpath(there, posixpath.dirname(here)), safe=_UNQUOTED)
        return f"{to}#{fragment}" if fragment else to

    def _file_of(self, url: str) -> str | None:
        try:
            return self._files.get(fingerprint(canonical(url, self._params)))
        except InvalidURL:
            return None


def _pages(place: Deployment, job: Job) -> Iterator[PageRecord]:
    for depth in sorted(extractable_depths(place.store, job.id)):
        for page in extractable_pages(place.store, job.id, depth):
            if is_wanted(page.status, None):
                yield page


def _redirects(place: Deployment, job: Job) -> Iterator[tuple[int, int]]:
    """Each redirect, with where its chain ends."""
    targets = dict(redirect_targets(place.store, job.id))
    for source, target in targets.items():
        passed = {source}
        while target in targets and target not in passed:
            passed.add(target)
            target = targets[target]
        yield source, target


def _content(place: Deployment, page: PageRecord, path: str, links: _Links) -> bytes:
    assert page.archive is not None
    headers, body = read_archived(place.archive, page.archive)
    if page.content_type in HTML_TYPES:
        return _html(page.url, to_utf8(body, headers.get("content-type")), path, links) or body
    if page.content_type == "text/css":
        text = to_utf8(body, headers.get("content-type")).decode(errors="replace")
        return rewrite_css(text, lambda link: links.rewritten(link, page.url, path)).encode(errors="replace")
    return body


def _html(url: str, body: bytes, path: str, links: _Links) -> bytes | None:
    """None for a page that cannot be parsed as a whole: it is better unchanged than cut off."""
    if len(body) > MAX_HTML_BYTES:
        return None
    try:
        page = Document(body, url).root.parser
    except UnparsablePage:
        return None
    base = base_href(page)
    try:
        base_url = url if base is None else join(url, base)
    except ValueError:
        base_url = url
    return rewrite_html(page, lambda link: links.rewritten(link, base_url, path)).encode(errors="replace")


@contextmanager
def _new_folder(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A new folder has its name only once it is complete."""
    try:
        if overwrite and folder.exists():
            yield folder
            return
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} exists and is not an empty folder: give --overwrite or another name")
        # A name of its own: what a killed command left must not become a part of another mirror.
        part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
        part.mkdir()
        try:
            yield part
            part.replace(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or folder}: {error.strerror}") from error
