"""Reading back what was found: listings as people and exports see them, and single endings for `explain`.

A listing is an iterator over one snapshot, in the order in which things happened, that holds a bounded number of
rows whatever the job's size. Close or exhaust it: until then it holds a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, func, select

from shoal.errors import UsageError
from shoal.model import DeadLetter, Drop, PageRecord, RedirectRecord, fingerprint_hex
from shoal.store import tables
from shoal.store.columns import DEAD, PAGE, Columns, Kind, iso_time
from shoal.store.content import unpack
from shoal.store.jobs import load_job
from shoal.store.store import Store
from shoal.store.text import storable
from shoal.urls import Params, linked

Where = Mapping[str, str]
"""Column -> the value it must have; which columns, see `conditions`."""

_FETCHED_AT_ONCE = 500
_FILTERS = {
    tables.pages: ("status", "host"),
    tables.dead: ("reason", "status", "host"),
    tables.items: ("type",),
    tables.rejects: ("type", "reason"),
}
_RECORDS = (
    (tables.pages, PageRecord),
    (tables.redirects, RedirectRecord),
    (tables.dead, DeadLetter),
    (tables.drops, Drop),
)


def list_pages(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    for row in stream(store, listing(tables.pages, PAGE, job, where)):
        yield shown(PAGE, row)


def list_pages_with_content(
    store: Store, job: str, where: Where, formats: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    pages, contents = tables.pages, tables.contents
    of_page = (contents.c.job == pages.c.job) & (contents.c.fingerprint == pages.c.fingerprint)
    with_content = listing(pages, PAGE, job, where).add_columns(contents.c.packed).outerjoin(contents, of_page)
    params = Params.of(load_job(store, job).spec)
    for row in stream(store, with_content):
        page = shown(PAGE, row)
        yield {**page, **_content(page["url"], row[-1], formats, params)}


def list_dead(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    for row in stream(store, listing(tables.dead, DEAD, job, where)):
        yield shown(DEAD, row)


def ending(store: Store, job: str, fingerprint: int) -> PageRecord | RedirectRecord | DeadLetter | Drop | None:
    """How this request ended (a page without its content), or None if it has not or was never found."""
    with store.read() as db:
        for table, record in _RECORDS:
            found = select(table).where(table.c.job == job, table.c.fingerprint == fingerprint)
            if row := db.execute(found).one_or_none():
                return record(**row._mapping)
    return None


def extractable_depths(store: Store, job: str) -> dict[int, int]:
    """Depth -> how many pages there are of which items can be made, because their bodies are in the archive."""
    depth = tables.pages.c.depth
    with store.read() as db:
        rows = db.execute(select(depth, func.count()).where(*_extractable(job)).group_by(depth))
        return {row[0]: row[1] for row in rows}


def pages_without_body(store: Store, job: str) -> int:
    """How many answered well, and are not in the archive."""
    pages = tables.pages
    left_out = (pages.c.job == job, pages.c.archive.is_(None), _answered_well())
    with store.read() as db:
        return int(db.execute(select(func.count()).where(*left_out)).scalar_one())


def extractable_pages(store: Store, job: str, depth: int) -> Iterator[PageRecord]:
    """Those of one depth, in the archive's order."""
    pages = tables.pages
    kept = select(pages).where(*_extractable(job), pages.c.depth == depth).order_by(pages.c.archive)
    for row in stream(store, kept):
        yield PageRecord(**row._mapping)


def _extractable(job: str) -> list[ColumnElement[bool]]:
    pages = tables.pages
    return [pages.c.job == job, pages.c.archive.is_not(None), _answered_well()]


def _answered_well() -> ColumnElement[bool]:
    status = tables.pages.c.status
    return status.between(200, 299) | (status == 304)


def redirected(store: Store, job: str) -> Iterator[tuple[int, int]]:
    """From the fingerprint of each redirect to that of its target, in the order of the crawl."""
    redirects = tables.redirects
    leading = select(redirects.c.fingerprint, redirects.c.target_fingerprint).where(
        redirects.c.job == job, redirects.c.target_fingerprint.is_not(None)
    )
    yield from stream(store, leading.order_by(redirects.c.fetched_at))


def redirects_to(store: Store, job: str, fingerprint: int, limit: int) -> list[RedirectRecord]:
    """The first redirects that lead to this request."""
    redirects = tables.redirects
    leading = select(redirects).where(redirects.c.job == job, redirects.c.target_fingerprint == fingerprint)
    with store.read() as db:
        rows = db.execute(leading.order_by(redirects.c.fetched_at).limit(limit))
        return [RedirectRecord(**row._mapping) for row in rows]


def conditions(table: Table, job: str, where: Where) -> list[ColumnElement[bool]]:
    """SQL for a filter that a person wrote."""
    found = [table.c.job == job]
    for name, value in where.items():
        if name not in _FILTERS[table]:
            raise UsageError(f"cannot filter by {name!r}: choose from {', '.join(_FILTERS[table])}")
        if name == "status" and not (value.isascii() and value.isdigit() and len(value) == 3):
            raise UsageError(f"status={value}: a status is a number such as 404")
        found.append(table.c[name] == (int(value) if name == "status" else storable(value)))
    return found


def listing(table: Table, columns: Columns, job: str, where: Where) -> Select[*tuple[Any, ...]]:
    """In the order in which things happened."""
    parent = tables.pages.alias("parent_page")
    derived = {"parent": parent.c.url.label("parent"), "final_url": table.c.url.label("final_url")}
    happened = next(name for name, kind in columns.items() if kind is Kind.TIME)
    return (
        select(*(derived[name] if name in derived else table.c[name] for name in columns))
        .select_from(table)
        .outerjoin(parent, (parent.c.job == table.c.job) & (parent.c.fingerprint == table.c.parent))
        .where(*conditions(table, job, where))
        .order_by(table.c[happened])
    )


def stream(store: Store, statement: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """The rows of one snapshot, some at a time."""
    with store.read() as db:
        yield from streamed(db, statement)


def streamed(db: Connection, statement: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """The same in the caller's transaction."""
    # Closed by whoever leaves early too: a server keeps its end open until it is told.
    with db.execute(statement, execution_options={"yield_per": _FETCHED_AT_ONCE}) as rows:
        yield from rows


def shown(columns: Columns, row: Any) -> dict[str, Any]:
    """A row of a listing as people see it."""
    found = dict(zip(columns, row, strict=False))
    found["fingerprint"] = fingerprint_hex(found["fingerprint"])
    for name in ("fetched_at", "died_at", "dropped_at"):
        if name in found:
            found[name] = iso_time(found[name])
    return found


def _content(url: str, packed: bytes | None, formats: Sequence[str], params: Params) -> dict[str, Any]:
    if packed is None:
        return dict.fromkeys(("description", "language", "text", "links", *formats))
    content = unpack(packed)
    return {
        "description": content.description,
        "language": content.language,
        "text": content.text,
        "links": linked(url, content.hrefs, params),
        **{name: content.formats.get(name) for name in formats},
    }
