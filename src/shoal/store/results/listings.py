"""Reads results from the store: listings for people and exports, and single outcomes for `explain`.

A listing is an iterator over one snapshot, in the order of events. It holds a bounded number of rows, whatever the
job's size. Close or exhaust it: until then it holds a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select

from shoal.errors import UsageError
from shoal.model import DeadLetter, Drop, PageRecord, RedirectRecord, fingerprint_hex
from shoal.model.record import HANDLED
from shoal.store import tables
from shoal.store.crawl.pack_content import unpack
from shoal.store.database.storable_text import storable
from shoal.store.jobs import load_job
from shoal.store.results.columns import DEAD, PAGE, Columns, Kind, iso_time
from shoal.store.store import Store
from shoal.urls import Params, linked

Where = Mapping[str, str]
"""Column -> required value; `conditions` says which columns are allowed."""

_FETCHED_AT_ONCE = 500
_FILTERS = {
    tables.pages: ("status", "host"),
    tables.dead: ("reason", "status", "host"),
    tables.items: ("type",),
    tables.rejects: ("type", "reason"),
}
CONTAINS = "contains"
"""A filter by text, which no index helps: for people who look at one job."""
MERGED = "merged"
"""The filter of pages that lists those which another page represents, instead of all others."""
_TEXTS = {tables.pages: ("url", "title"), tables.items: ("data",)}
_RECORDS = (
    (tables.pages, PageRecord),
    (tables.redirects, RedirectRecord),
    (tables.dead, DeadLetter),
    (tables.drops, Drop),
)


def list_pages(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    for row in stream(store, listing(tables.pages, PAGE, job, where)):
        yield display_row(PAGE, row)


def list_pages_with_content(
    store: Store, job: str, where: Where, formats: Sequence[str] = (), only: Sequence[int] | None = None
) -> Iterator[dict[str, Any]]:
    """`only` limits them to the pages with these fingerprints."""
    pages, contents = tables.pages, tables.contents
    of_page = (contents.c.job == pages.c.job) & (contents.c.fingerprint == pages.c.fingerprint)
    with_content = listing(pages, PAGE, job, where).add_columns(contents.c.packed).outerjoin(contents, of_page)
    if only is not None:
        with_content = with_content.where(pages.c.fingerprint.in_(only))
    params = Params.of(load_job(store, job).spec)
    for row in stream(store, with_content):
        page = display_row(PAGE, row)
        yield {**page, **_content(page["url"], row[-1], formats, params)}


def count_pages(store: Store, job: str) -> int:
    """Those that a listing has."""
    with store.read() as db:
        return int(db.execute(select(func.count()).where(*conditions(tables.pages, job, {}))).scalar_one())


def list_dead(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    for row in stream(store, listing(tables.dead, DEAD, job, where)):
        yield display_row(DEAD, row)


def find_outcome(store: Store, job: str, fingerprint: int) -> PageRecord | RedirectRecord | DeadLetter | Drop | None:
    """The outcome of this request (a page without its content); None if it has not ended or was never found."""
    return _find_outcome(store, lambda table: and_(table.c.job == job, table.c.fingerprint == fingerprint))


def find_outcome_by_url(
    store: Store, job: str, urls: Sequence[str]
) -> PageRecord | RedirectRecord | DeadLetter | Drop | None:
    """For requests whose fingerprint does not follow from the URL alone: another program has chosen it, or they have a
    session. Reads all rows of the job."""
    return _find_outcome(store, lambda table: and_(table.c.job == job, table.c.url.in_(urls)))


def _find_outcome(
    store: Store, condition: Callable[[Table], ColumnElement[bool]]
) -> PageRecord | RedirectRecord | DeadLetter | Drop | None:
    with store.read() as db:
        for table, record in _RECORDS:
            if row := db.execute(select(table).where(condition(table)).limit(1)).one_or_none():
                return record(**row._mapping)
    return None


def newest_pages(store: Store, job: str, limit: int) -> list[PageRecord]:
    """Those that were fetched last, the newest first."""
    newest = select(tables.pages).where(tables.pages.c.job == job).order_by(tables.pages.c.fetched_at.desc())
    with store.read() as db:
        return [PageRecord(**row._mapping) for row in db.execute(newest.limit(limit))]


def extractable_depths(store: Store, job: str) -> dict[int, int]:
    """Depth -> number of successful pages whose bodies the archive has. A depth may have others: pages that a spider
    asked for by their status, and requests that failed."""
    pages, drops = tables.pages, tables.drops
    good = select(pages.c.depth, func.count().filter(_answered_well())).where(*_archived(job)).group_by(pages.c.depth)
    failed = select(drops.c.depth).distinct().where(*_handled(job))
    with store.read() as db:
        return {**{row[0]: 0 for row in db.execute(failed)}, **{row[0]: row[1] for row in db.execute(good)}}


def pages_without_body(store: Store, job: str) -> int:
    """Counts the successful pages that are not in the archive."""
    pages = tables.pages
    left_out = (pages.c.job == job, pages.c.archive.is_(None), _answered_well())
    with store.read() as db:
        return int(db.execute(select(func.count()).where(*left_out)).scalar_one())


def extractable_pages(store: Store, job: str, depth: int) -> Iterator[PageRecord]:
    """The archived pages of one depth, of any status, in the archive's order."""
    pages = tables.pages
    kept = select(pages).where(*_archived(job), pages.c.depth == depth).order_by(pages.c.archive)
    for row in stream(store, kept):
        yield PageRecord(**row._mapping)


def handled_failures(store: Store, job: str, depth: int) -> Iterator[Drop]:
    """Requests of one depth without an answer, whose failure an errors callback took."""
    for row in stream(store, select(tables.drops).where(*_handled(job), tables.drops.c.depth == depth)):
        yield Drop(**row._mapping)


def _archived(job: str) -> list[ColumnElement[bool]]:
    pages = tables.pages
    return [pages.c.job == job, pages.c.archive.is_not(None), pages.c.merged_into.is_(None)]


def _handled(job: str) -> list[ColumnElement[bool]]:
    return [tables.drops.c.job == job, tables.drops.c.reason == HANDLED]


def _answered_well() -> ColumnElement[bool]:
    status = tables.pages.c.status
    return status.between(200, 299) | (status == 304)


def redirect_targets(store: Store, job: str) -> Iterator[tuple[int, int]]:
    """The fingerprints of each redirect and of its target, in the order of the crawl."""
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
    """Converts a user's filter into SQL. A page that another one represents is shown only if the filter asks for it."""
    found = [table.c.job == job]
    if table is tables.pages:
        into = tables.pages.c.merged_into
        found.append(into.is_not(None) if where.get(MERGED, "").lower() == "true" else into.is_(None))
    for name, value in where.items():
        if name == MERGED and table is tables.pages:
            continue
        if name == CONTAINS:
            found.append(
                or_(*(table.c[column].icontains(storable(value), autoescape=True) for column in _TEXTS[table]))
            )
            continue
        if name not in _FILTERS[table]:
            raise UsageError(f"cannot filter by {name!r}: choose from {', '.join(_FILTERS[table])}")
        if name == "status" and not (value.isascii() and value.isdigit() and len(value) == 3):
            raise UsageError(f"status={value}: a status is a number such as 404")
        found.append(table.c[name] == (int(value) if name == "status" else storable(value)))
    return found


def listing(table: Table, columns: Columns, job: str, where: Where) -> Select[*tuple[Any, ...]]:
    """Selects rows in the order of events."""
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
    """Streams the rows of one snapshot."""
    with store.read() as db:
        yield from stream_rows(db, statement)


def stream_rows(db: Connection, statement: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """Streams rows in the caller's transaction."""
    # Closed also if the caller stops early: otherwise the server keeps its cursor open.
    with db.execute(statement, execution_options={"yield_per": _FETCHED_AT_ONCE}) as rows:
        yield from rows


def display_row(columns: Columns, row: Any) -> dict[str, Any]:
    """Converts a row of a listing for display."""
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
