"""Completes the file fields of items when their files have been fetched.

The table `files` says which page's items refer to which request. Either may be saved first. Both lock the request of
the file, so the later one sees the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from mimetypes import MimeTypes
from typing import Any, TypeVar

from sqlalchemy import Connection, exists, select, update

from shoal.model import PageRecord
from shoal.store.crawl.change_log import PageChange
from shoal.store.database.storable_text import json_text, storable
from shoal.store.database.upsert import Upsert, keep_first
from shoal.store.store import Store
from shoal.store.tables import dead, drops, files, items, pages, redirects

T = TypeVar("T")

_FILES = Upsert(files, keep_first)
_FIELDS = {"url", "path", "bytes", "digest", "content_type", "error"}
"""By these a file is known in the JSON of an item."""
_AT_ONCE = 500
_MIME = MimeTypes()
"""Without the tables of the system: a path must not depend on the machine."""

Fields = Mapping[str, Any]


def link_files(db: Connection, job: str, found: Sequence[PageRecord]) -> list[int]:
    """Stores to which requests the items of these pages refer, and returns these."""
    for page in found:
        if page.file_faults:
            _fill_page(db, job, page.fingerprint, {url: {"error": why} for url, why in page.file_faults.items()})
    rows = [(job, file, page.fingerprint, json.dumps(urls)) for page in found for file, urls in page.files.items()]
    _FILES.write(db, [(*row[:3], storable(row[3])) for row in rows])
    return [file for _, file, _, _ in rows]


def fill_files(db: Connection, job: str, ended: Iterable[int]) -> list[PageChange]:
    """Completes the fields that refer to these requests, as far as they have ended. Returns the pages that changed."""
    by_page: dict[int, dict[str, Fields]] = {}
    waiting, seen = list(dict.fromkeys(ended)), set[int]()
    while waiting:
        some, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
        seen.update(some)
        linked = db.execute(select(files).where(files.c.job == job, files.c.file.in_(some))).all()
        outcomes = _outcomes(db, job, {row.file for row in linked}) if linked else {}
        for row in linked:
            outcome = outcomes.get(row.file)
            if isinstance(outcome, int):
                _FILES.write(db, [(job, outcome, row.page, row.urls)])
                waiting += [outcome] if outcome not in seen else []
            elif outcome is not None:
                by_page.setdefault(row.page, {}).update(dict.fromkeys(json.loads(row.urls), outcome))
    return [change for page, known in by_page.items() if (change := _fill_page(db, job, page, known)) is not None]


def fill_all_files(db: Connection, job: str) -> None:
    """After all items of the job were replaced."""
    found = iter(db.execute(select(files.c.file).where(files.c.job == job).distinct()).scalars().all())
    while some := list(islice(found, _AT_ONCE)):
        fill_files(db, job, some)


def has_files(store: Store, job: str) -> bool:
    with store.read() as db:
        return db.execute(select(files.c.job).where(files.c.job == job).limit(1)).first() is not None


def file_requests(store: Store, job: str) -> set[int]:
    """The requests that items refer to as their files. No callback gets them."""
    with store.read() as db:
        return set(db.execute(select(files.c.file).where(files.c.job == job)).scalars())


def is_file() -> Any:
    """A condition on `pages`: an item refers to the page as its file."""
    return exists().where(files.c.job == pages.c.job, files.c.file == pages.c.fingerprint)


def file_path(digest: str, content_type: str) -> str:
    """Where an export of files writes it. The digest has the name of its algorithm: `sha256:977c…`."""
    name = digest.rpartition(":")[2]
    return f"{name[:2]}/{name}{_MIME.guess_extension(content_type) or ''}"


def _outcomes(db: Connection, job: str, wanted: Iterable[int]) -> dict[int, Fields | int]:
    """What fills a field, or the request to which a redirect leads."""
    of = sorted(wanted)
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
