"""Completes the file fields of items when their files have been fetched.

The table `files` says which page's items refer to which request. Either may be saved first. Both take the
lock of the file, so the later one sees the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, exists, select, update

from shoal.model import PageRecord
from shoal.store.archive.file_paths import file_path
from shoal.store.crawl.change_log import PageChange
from shoal.store.database.storable_text import json_text, storable
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store
from shoal.store.tables import dead, drops, files, items, pages, redirects

T = TypeVar("T")

_FILES = Upsert("files", replace)
_FIELDS = {"url", "path", "bytes", "digest", "content_type", "error"}
"""By these a file is known in the JSON of an item."""
_AT_ONCE = 500

Fields = Mapping[str, Any]


class FileLink(NamedTuple):
    """Items of the page have these URLs, which stand for the request `file`."""

    file: int
    page: int
    urls: Sequence[str]


def link_files(db: Connection, job: str, found: Sequence[PageRecord]) -> list[FileLink]:
    """Stores to which requests the items of these pages refer, and returns it."""
    for page in found:
        if page.file_faults:
            _fill_page(db, job, page.fingerprint, {url: {"error": why} for url, why in page.file_faults.items()})
    links = [FileLink(file, page.fingerprint, urls) for page in found for file, urls in page.files.items()]
    _store(db, job, links)
    return links


def fill_files(
    store: Store, db: Connection, job: str, ended: Iterable[int], linked: Sequence[FileLink] = ()
) -> list[PageChange]:
    """Completes the fields that refer to requests that have ended: those of `linked`, and all that refer to `ended`.

    Returns the pages that changed.
    """
    by_page: dict[int, dict[str, Fields]] = {}
    # Not all that refer to the files of `linked`: one file may be in the items of every page.
    waiting, seen = [*linked, *_links_to(db, job, ended)], set[tuple[int, int, str]]()
    while waiting:
        outcomes = _outcomes(db, job, {link.file for link in waiting})
        moved: dict[tuple[int, int], list[str]] = {}
        for link in waiting:
            outcome = outcomes.get(link.file)
            if isinstance(outcome, int):
                new = [url for url in link.urls if (outcome, link.page, url) not in seen]
                seen.update((outcome, link.page, url) for url in new)
                moved.setdefault((outcome, link.page), []).extend(new)
            elif outcome is not None:
                by_page.setdefault(link.page, {}).update(dict.fromkeys(link.urls, outcome))
        waiting = [FileLink(*key, urls) for key, urls in moved.items() if urls]
        if waiting:
            # The file may end at this moment in another transaction.
            store.lock_requests(db, job, {link.file for link in waiting})
            _store(db, job, waiting)
    # In order: another save may complete the same pages.
    filled = [_fill_page(db, job, page, by_page[page]) for page in sorted(by_page)]
    return [change for change in filled if change is not None]


def fill_all_files(store: Store, db: Connection, job: str) -> None:
    """After all items of the job were replaced."""
    for some in _parts(db.execute(select(files.c.file).where(files.c.job == job).distinct()).scalars().all()):
        fill_files(store, db, job, some)


def has_files(store: Store, job: str) -> bool:
    with store.read() as db:
        return db.execute(select(files.c.job).where(files.c.job == job).limit(1)).first() is not None


def file_requests(store: Store, job: str) -> set[int]:
    """The requests that items refer to as their files. No callback gets them."""
    with store.read() as db:
        return set(db.execute(select(files.c.file).where(files.c.job == job)).scalars())


def file_records(store: Store, job: str) -> Sequence[str]:
    """References of the job's own records that brought the files of items."""
    own = pages.c.archive.startswith(f"{job}/", autoescape=True)
    with store.read() as db:
        return db.execute(select(pages.c.archive).where(pages.c.job == job, own, is_file())).scalars().all()


def is_file() -> Any:
    """A condition on `pages`: an item refers to the page as its file."""
    return exists().where(files.c.job == pages.c.job, files.c.file == pages.c.fingerprint)


def _store(db: Connection, job: str, links: Iterable[FileLink]) -> None:
    """Adds to the URLs that are stored: several files of a page may lead to the same request."""
    for some in _parts(sorted(links)):
        these = files.c.file.in_({link.file for link in some}), files.c.page.in_({link.page for link in some})
        known = {(link.file, link.page): link.urls for link in _stored(db, job, *these)}
        all_urls = [dict.fromkeys((*known.get(link[:2], ()), *link.urls)) for link in some]
        texts = [storable(json.dumps(list(urls))) for urls in all_urls]
        _FILES.write(db, [(job, link.file, link.page, text) for link, text in zip(some, texts, strict=True)])


def _links_to(db: Connection, job: str, requests: Iterable[int]) -> Iterator[FileLink]:
    for some in _parts(dict.fromkeys(requests)):
        yield from _stored(db, job, files.c.file.in_(some))


def _stored(db: Connection, job: str, *conditions: ColumnElement[bool]) -> list[FileLink]:
    found = db.execute(select(files).where(files.c.job == job, *conditions)).all()
    return [FileLink(row.file, row.page, json.loads(row.urls)) for row in found]


def _outcomes(db: Connection, job: str, wanted: Iterable[int]) -> dict[int, Fields | int]:
    """What fills a field, or the request to which a redirect leads."""
    found: dict[int, Fields | int] = {}
    for some in _parts(sorted(wanted)):
        found |= _some_outcomes(db, job, some)
    return found


def _some_outcomes(db: Connection, job: str, of: Sequence[int]) -> dict[int, Fields | int]:
    found: dict[int, Fields | int] = {}
    columns = pages.c.fingerprint, pages.c.status, pages.c.digest, pages.c.bytes, pages.c.content_type, pages.c.archive
    for row in db.execute(select(*columns).where(pages.c.job == job, pages.c.fingerprint.in_(of))):
        found[row.fingerprint] = _fetched(row)
    for table in (dead, drops):
        failed = select(table.c.fingerprint, table.c.reason).where(table.c.job == job, table.c.fingerprint.in_(of))
        found |= {key: {"error": reason} for key, reason in db.execute(failed)}
    moved = select(redirects.c.fingerprint, redirects.c.target_fingerprint, redirects.c.reason)
    for key, target, reason in db.execute(moved.where(redirects.c.job == job, redirects.c.fingerprint.in_(of))):
        found[key] = {"error": f"redirect: {reason}"} if target is None or reason else target
    return found


def _fetched(row: Any) -> Fields:
    if not (200 <= row.status < 300 or row.status == 304):
        return {"error": f"status {row.status}"}
    about = {"bytes": row.bytes, "digest": row.digest, "content_type": row.content_type}
    if row.archive is None:
        return {**about, "error": "not in the archive"}
    return {**about, "path": file_path(row.digest, row.content_type)}


def _fill_page(db: Connection, job: str, page: int, known: Mapping[str, Fields]) -> PageChange | None:
    found = select(items.c.ordinal, items.c.data).where(items.c.job == job, items.c.page == page)
    # Another file of the page may be saved at the same time.
    rows: Sequence[Any] = db.execute(found.order_by(items.c.ordinal).with_for_update()).all()
    changed = False
    for ordinal, data in rows:
        value = json.loads(data)
        if sum(_fill(each, known) for each in _files_in(value)):
            changed = True
            this = (items.c.job == job) & (items.c.page == page) & (items.c.ordinal == ordinal)
            db.execute(update(items).where(this).values(data=json_text(value)))
    return PageChange(page, len(rows)) if changed else None


def _files_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.keys() == _FIELDS:
            yield value
        else:
            for each in value.values():
                yield from _files_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _files_in(each)


def _fill(file: dict[str, Any], known: Mapping[str, Fields]) -> bool:
    """Whether it changed."""
    if file["url"] not in known:
        return False
    new = {**dict.fromkeys(_FIELDS - {"url"}), **known[file["url"]]}
    changed = any(file[name] != value for name, value in new.items())
    file.update(new)
    return changed


def _parts(values: Iterable[T]) -> Iterator[list[T]]:
    left = iter(values)
    while some := list(islice(left, _AT_ONCE)):
        yield some
