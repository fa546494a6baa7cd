"""A job's figures, counted from the stored rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.model import MILLION, Figures
from shoal.store.crawl.failed_attempts import FAILED
from shoal.store.crawl.save_batch import (
    DROPPED_ITEMS,
    MATCHED,
    RENDERED,
    SKIPPED,
    SPENT,
    UNARCHIVED,
    UNMATCHED,
    SelectorUse,
)
from shoal.store.database.plain_sql import is_postgres, run, value
from shoal.store.failure_trend import FailureTrend, merged
from shoal.store.store import Store
from shoal.urls.traps import PREFIX as TRAP
from shoal.urls.traps import SAMPLES
from shoal.urls.url_shapes import BRINGS_NOTHING, SHAPE

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction
    from shoal.store.results.time_series import Point

MOST_SHAPES = 20
"""How many are listed."""
Tally = tuple[str, int, str | None]
"""Key, count, sample."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Attempts that failed in the same way at the same host."""

    kind: str
    status: int | None
    host: str
    n: int
    sample: str | None
    """A URL, with details behind ": " if there are any."""
    first_at: float | None = None
    """None: an older version of Shoal counted some of them, without their times."""
    last_at: float | None = None
    trend: FailureTrend | None = None
    """None: an older version of Shoal counted all of them."""

    @property
    def sample_url(self) -> str | None:
        # No URL contains a space.
        return self.sample.partition(": ")[0] if self.sample else None


@dataclass(frozen=True, slots=True)
class TrapFigures:
    """Links not followed because they look endless by the same rule."""

    rule: str
    links: int
    samples: list[str]
    """The first URLs."""


@dataclass(frozen=True, slots=True)
class ShapeFigures:
    """Requests dropped because the pages of their shape brought nothing new."""

    shape: str
    host: str
    requests: int
    samples: list[str]
    """A few of their URLs."""


@dataclass(frozen=True, slots=True)
class UnmatchedSelector:
    """A selector of the spider or rules that matched on no page."""

    use: str
    """`each` or `follow`"""
    callback: str
    selector: str
    pages: int
    """On so many pages it was tried."""
    sample: str
    """The URL of one of them."""


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """What the store has of a job, counted."""

    pages: int
    assets: int
    """Images, stylesheets and other parts of pages, and files of items. They are not among the pages."""
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    traps: list[TrapFigures]
    """The skipped links that are traps, most frequent first."""
    shapes: list[ShapeFigures]
    """Dropped requests by the shape of their URLs, most frequent first."""
    items: int
    rejected: int
    dropped_items: dict[str, int]
    """Items that steps of the spider dropped, by reason, the most frequent first."""
    bytes: int
    hosts: int
    by_status: dict[str, int]
    changed: int
    """Pages of a refresh that differ from the earlier job's."""
    unchanged: int
    changes: dict[str, int]
    """The pages of a refresh by what has changed: `content`, `markup`, `no`."""
    merged: int
    """Pages that another page represents, because both name the same canonical URL."""
    rendered: dict[str, int]
    """Pages that a browser loaded, by the pattern of their path, the most frequent first."""
    unarchived: int
    """Responses for which the archive had no room."""
    cost: float
    """Of the proxies, by the prices in their list."""
    failures: list[Failures]
    """Most frequent first."""
    unmatched: list[UnmatchedSelector]
    """Those tried on most pages first."""
    reject_reason: str | None
    """The most frequent reason of rejects."""


FIGURES = (
    *("pages", "redirects", "dead", "dropped", "skipped", "items", "rejected", "bytes", "by_status", "hosts"),
    "changes",
)
"""What hooks and webhooks get of them, under the names that `GET /jobs/{id}` uses."""


def brief_figures(store: Store, job: str) -> dict[str, Any]:
    """The job's figures as they are stored: each result is stored before its request counts as ended, so those of a job
    that has ended are complete."""
    stored = stored_figures(store, job)
    return {name: getattr(stored, name) for name in FIGURES}


def stored_figures(store: Store, job: str) -> StoredFigures:
    # PostgreSQL's sum is a decimal. One pass over the pages for all that few values tell apart.
    kinds = "status, changed, change_kind, merged_into IS NOT NULL, coalesce(is_asset, false)"
    by_kind = f"SELECT {kinds}, count(*), CAST(sum(bytes) AS BIGINT) FROM pages WHERE job = :job GROUP BY 1, 2, 3, 4, 5"
    # PostgreSQL would sort all hosts for count(distinct).
    hosts = "SELECT count(*) FROM (SELECT DISTINCT host FROM pages WHERE job = :job) AS of_job"
    with store.read_plain() as db:
        rows = [_PageCount(*row) for row in run(db, by_kind, {"job": job})]
        counted = [one for one in rows if not one.is_asset]
        return StoredFigures(
            pages=sum(one.n for one in counted),
            assets=sum(one.n for one in rows if one.is_asset),
            redirects=_count(db, "redirects", job),
            dead=_count(db, "dead", job),
            dropped=_dropped(db, job),
            shapes=_shapes(db, job),
            items=_count(db, "items", job),
            rejected=_count(db, "rejects", job),
            bytes=sum(one.bytes for one in rows),
            hosts=value(db, hosts, {"job": job}),
            by_status=_sums(counted, "status"),
            changed=sum(one.n for one in counted if one.changed),
            unchanged=sum(one.n for one in counted if one.changed is not None and not one.changed),
            changes=_sums(counted, "change_kind"),
            merged=sum(one.n for one in counted if one.is_merged),
            reject_reason=_reject_reason(db, job),
            **_tallied(db, job),
        )


def quick_figures(store: Store, job: str, ended: Figures, series: Sequence[Point]) -> StoredFigures:
    """What is known without counting rows: how requests ended, which the frontier knows, and the sums of the series.
    The rest is 0."""
    statuses: Counter[str] = Counter()
    for point in series:
        statuses.update(point.by_status or {})
    with store.read_plain() as db:
        return StoredFigures(
            pages=ended.pages,
            assets=ended.assets,
            redirects=ended.redirects,
            dead=ended.dead,
            dropped=dict(ended.dropped),
            shapes=[],
            items=sum(point.items for point in series),
            rejected=0,
            bytes=sum(point.bytes for point in series),
            hosts=0,
            by_status=dict(sorted(statuses.items())),
            changed=0,
            unchanged=0,
            changes={},
            merged=0,
            reject_reason=None,
            **_tallied(db, job),
        )


class _PageCount(NamedTuple):
    status: int
    changed: bool | None
    change_kind: str | None
    is_merged: bool
    is_asset: bool
    n: int
    bytes: int


def _sums(counted: Sequence[_PageCount], name: str) -> dict[str, int]:
    """The pages by this value, in its order; those without a value are left out."""
    sums: Counter[str] = Counter()
    for one in counted:
        if (value := getattr(one, name)) is not None:
            sums[str(value)] += one.n
    return dict(sorted(sums.items()))


def _tallied(db: Transaction, job: str) -> dict[str, Any]:
    """The figures that were added up while the job ran."""
    skips = _tallies(db, job, SKIPPED)
    return {
        "skipped": _by_reason(skips),
        "traps": _trapped(skips),
        "dropped_items": {key: n for key, n, _ in _tallies(db, job, DROPPED_ITEMS)},
        "rendered": {key: n for key, n, _ in _tallies(db, job, RENDERED)},
        "unarchived": sum(n for _, n, _ in _tallies(db, job, UNARCHIVED)),
        "failures": _failures(db, job),
        "unmatched": _unmatched(db, job),
        "cost": _spent(db, job) / MILLION,
    }


class OutcomeCounts(NamedTuple):
    pages: int
    assets: int
    redirects: int
    dead: int
    dropped: dict[str, int]


def outcome_counts(store: Store, job: str) -> OutcomeCounts:
    """How the requests of a job ended: a small part of `stored_figures`, which indexes alone answer."""
    are_assets = "SELECT count(*) FROM pages WHERE job = :job AND is_asset"
    with store.read_plain() as db:
        assets = value(db, are_assets, {"job": job})
        return OutcomeCounts(
            pages=_count(db, "pages", job) - assets,
            assets=assets,
            redirects=_count(db, "redirects", job),
            dead=_count(db, "dead", job),
            dropped=_dropped(db, job),
        )


def has_callback_failures(store: Store, job: str) -> bool:
    """Whether a callback failed for any page that had been fetched."""
    with store.read_plain() as db:
        return any(key.startswith("callback ") for key, _, _ in _tallies(db, job, FAILED))


def spent_by(store: Store, job: str) -> int:
    """What the job has spent on proxies, in millionths."""
    with store.read_plain() as db:
        return _spent(db, job)


def _spent(db: Transaction, job: str) -> int:
    return sum(n for _, n, _ in _tallies(db, job, SPENT))


def trap_figures(store: Store, job: str) -> list[TrapFigures]:
    with store.read_plain() as db:
        return _trapped(_tallies(db, job, SKIPPED))


def _by_reason(skips: list[Tally]) -> dict[str, int]:
    """Counts the traps of all rules as one reason."""
    counts: Counter[str] = Counter()
    for key, n, _ in skips:
        counts[key.partition(":")[0]] += n
    return dict(counts.most_common())


def _trapped(skips: list[Tally]) -> list[TrapFigures]:
    traps = [(key.removeprefix(TRAP), n, sample) for key, n, sample in skips if key.startswith(TRAP)]
    return [TrapFigures(rule, n, sample.split("\n") if sample else []) for rule, n, sample in traps]


def _shapes(db: Transaction, job: str) -> list[ShapeFigures]:
    dropped = "FROM drops WHERE job = :job AND reason = :reason"
    these = {"job": job, "reason": SHAPE}
    found = run(db, f"SELECT detail, host, count(*) {dropped} GROUP BY detail, host ORDER BY count(*) DESC", these)
    # In the order of the primary key, so that the search ends at the first few of each shape.
    samples = f"SELECT url {dropped} AND detail = :detail AND host = :host ORDER BY fingerprint LIMIT {SAMPLES}"
    return [
        ShapeFigures(
            detail.removesuffix(BRINGS_NOTHING),
            host,
            requests,
            sorted(url for (url,) in run(db, samples, {**these, "detail": detail, "host": host})),
        )
        for detail, host, requests in found[:MOST_SHAPES]
    ]


def _dropped(db: Transaction, job: str) -> dict[str, int]:
    """Requests by the reason why they were dropped."""
    by_reason = "SELECT reason, count(*) FROM drops WHERE job = :job GROUP BY reason"
    return dict(map(tuple, run(db, by_reason, {"job": job})))


def _count(db: Transaction, table: str, job: str) -> int:
    return int(value(db, f"SELECT count(*) FROM {table} WHERE job = :job", {"job": job}))


def _tallies(db: Transaction, job: str, kind: str) -> list[Tally]:
    # PostgreSQL's sum is a decimal.
    counts = (
        "SELECT key, CAST(sum(n) AS BIGINT), min(sample) FROM tallies WHERE job = :job AND kind = :kind "
        "GROUP BY key ORDER BY 2 DESC, key"
    )
    return [(key, n, sample) for key, n, sample in run(db, counts, {"job": job, "kind": kind})]


def _unmatched(db: Transaction, job: str) -> list[UnmatchedSelector]:
    tried = _tallies(db, job, UNMATCHED)
    matched = {key for key, _, _ in _tallies(db, job, MATCHED)} if tried else set()
    return [
        UnmatchedSelector(*SelectorUse.of_key(key), n, sample or "") for key, n, sample in tried if key not in matched
    ]


def _reject_reason(db: Transaction, job: str) -> str | None:
    most = "SELECT reason FROM rejects WHERE job = :job GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 1"
    reason: str | None = value(db, most, {"job": job})
    return reason


def _failures(db: Transaction, job: str) -> list[Failures]:
    counts = (
        "SELECT key, CAST(sum(n) AS BIGINT), min(sample), "
        f"CASE WHEN count(first_at) = count(*) THEN min(first_at) END, max(last_at), {_joined(db, 'trend')} "
        "FROM tallies WHERE job = :job AND kind = :kind GROUP BY key ORDER BY 2 DESC, key"
    )
    return [_group(*row) for row in run(db, counts, {"job": job, "kind": FAILED})]


def _joined(db: Transaction, column: str) -> str:
    """The texts of a group as one, a line each."""
    return f"string_agg({column}, chr(10))" if is_postgres(db) else f"group_concat({column}, char(10))"


def _group(
    key: str, n: int, sample: str | None, first_at: float | None, last_at: float | None, trends: str
) -> Failures:
    kind, status, host = key.split(" ", 2)
    trend = merged(map(FailureTrend.of_text, trends.split("\n"))) if trends else None
    return Failures(kind, None if status == "-" else int(status), host, n, sample, first_at, last_at, trend)
