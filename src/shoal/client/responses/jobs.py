"""Answers about jobs: submitted, listed, changed and scraped, and how they went."""

from __future__ import annotations

from typing import Any, NotRequired, final

from shoal.client.responses.choices import JobState, Lane
from shoal.client.responses.typed_dict import TypedDict


class Rejected(TypedDict):
    """A URL that was not accepted."""

    line: NotRequired[int]
    """Its line in the body, for appended URLs."""
    url: str
    reason: str


class Submitted(TypedDict):
    """The job is stored with its URLs. The fleet starts it by itself."""

    id: str
    name: str
    state: JobState
    accepted: int
    """Distinct URLs that will be crawled."""
    duplicates: int
    rejected: list[Rejected]
    """The first thousand."""
    rejected_count: int


class Appended(TypedDict):
    """How many URLs were accepted or rejected."""

    id: str
    accepted: int
    """Distinct URLs that are new to the job."""
    duplicates: int
    rejected: list[Rejected]
    """The first thousand, with their line in the body."""
    rejected_count: int


class SeriesPoint(TypedDict):
    """What happened to a job, or to a fleet, in a period of time."""

    at: str
    """When the period began."""
    seconds: int
    """How long it lasted: a minute, or longer in jobs of many hours; of a fleet one to ten minutes."""
    pages: int
    by_status: dict[str, int]
    bytes: int
    items: int
    p50_ms: int | None
    """The median time of an answer; null without pages."""
    p95_ms: int | None
    queue: int | None
    """Requests queued and in flight at its end; null if that is not known."""


class Series(TypedDict):
    """How a job, or a fleet, went over time."""

    points: list[SeriesPoint]
    """Oldest first, at most 480 and the time since. A period without a point had no pages."""


class Size(TypedDict):
    """How much a job has stored."""

    database_bytes: int
    """What its rows take, without indexes."""
    archive_bytes: int
    """Records and files; a file that several jobs use counts for each."""


class Trap(TypedDict):
    """A rule against endless URLs that skipped links of the job."""

    rule: str
    links: int
    """How many links it skipped."""
    samples: list[str]
    allow: str
    """What to do if the rule is wrong here."""


class Shape(TypedDict):
    """A shape of URLs whose pages brought nothing new, so that further requests were dropped."""

    shape: str
    host: str
    requests: int
    """How many were dropped."""
    samples: list[str]
    allow: str
    """What to do if they are worth it."""


class WebhookDeliveries(TypedDict):
    """What became of the job's messages to its webhook."""

    delivered: int
    waiting: int
    given_up: int
    fault: str | None
    """Why the last message that was not delivered was not."""


class Unmatched(TypedDict):
    """A selector that matched on no page."""

    use: str
    """`each` or `follow`"""
    callback: str
    selector: str
    pages: int
    """On so many pages it was tried."""
    sample: str
    """The URL of one of them."""


class SinkFigures(TypedDict):
    """How far a sink of the job has come."""

    url: str
    behind: int
    """Changed items that it has not got yet."""
    behind_s: float
    """How long the oldest of them has waited."""
    delivered: int
    refused: int
    """Items that the destination refused: `GET /jobs/{id}/export?what=refused` lists them."""
    fault: str | None
    """What it waits for, in words."""
    stuck: bool
    """Whether somebody has to mend something first."""


class Job(TypedDict):
    """The figures of a job."""

    id: str
    name: str
    state: JobState
    lane: Lane
    created_at: str
    started_at: str | None
    finished_at: str | None
    found: int
    """Distinct URLs that the job has seen."""
    queued: int
    """Requests that wait for their turn."""
    leased: int
    """Requests that a worker is processing."""
    pages: int
    redirects: int
    dead: int
    """Requests that the job gave up on."""
    dropped: dict[str, int]
    """Requests that were not sent, by reason."""
    skipped: dict[str, int]
    """Links that were not followed, by reason."""
    items: int
    rejected_items: int
    """Items that failed validation."""
    dropped_items: dict[str, int]
    """Items that steps of the spider dropped, by reason."""
    no_items: str | None
    """Why the spider or rules found no item on any page, in words; null: they found some, or the job may be empty."""
    unmatched: list[Unmatched]
    """Selectors of the spider or rules that matched on no page."""
    on_finish_error: str | None
    """Why the spider's `on_finish` failed, in words; null: it did not fail, or there is none."""
    merged: int
    """Pages that are not listed, because another page with the same canonical URL represents them."""
    rendered: dict[str, int]
    """Pages that a browser loaded, by the pattern of their path."""
    nofollow_starts: list[str]
    """Start pages whose links were not followed, because they are nofollow; the first three."""
    sinks: list[SinkFigures]
    """In the order in which the job names them."""
    assets: int
    """Images, stylesheets and other parts of pages, and files of items. They are not among the pages."""
    bytes: int
    by_status: dict[str, int]
    """Pages by HTTP status."""
    hosts: int
    archive_bytes: int
    unarchived: int
    """Responses for which the archive had no room."""
    cost: float
    """What proxies cost, by the prices in their list."""
    limiting: str | None
    """What the job waits for, in words; for a job that has ended, why it ended."""
    why_slow: str | None
    """What holds a running job back, with figures and what would help."""
    traps: list[Trap]
    shapes: list[Shape]
    overrides: list[str]
    """Options by which the job treats hosts in an unusual way, such as `ignore_robots`."""
    user_agent: str
    version: int
    """Increases by one with every change to the job."""
    webhook: WebhookDeliveries | None
    """null: the job has no webhook."""
    owner: str | None
    """The name of the submit token that owns the job, or the id of one that was removed. null: the job belongs to the
    admins, or to everybody where jobs are shared. Readers do not see it."""


class JobList(TypedDict):
    """Jobs, newest first."""

    jobs: list[Job]
    next: str | None
    """The cursor of the next part; null at the end."""


class Steered(TypedDict):
    """The effect of the call, in words."""

    id: str
    state: JobState
    detail: str


class Changed(TypedDict):
    """The changed job, or with `preview` what the change would do to its queue."""

    id: str
    version: int
    """Increases by one with every change."""
    queued: NotRequired[int]
    """For a preview."""
    would_drop: NotRequired[int]
    """For a preview: how many of the queued URLs the change would drop."""
    is_estimate: NotRequired[bool]
    """For a preview: only a part of the queue was examined."""


@final
class Scraped(TypedDict):
    """The page's outcome and the requested formats."""

    id: str
    url: str
    final_url: str | None
    status: int | None
    """The server's status code, if it answered."""
    outcome: str
    """`page`, or another outcome, with its `reason`."""
    reason: str | None
    content_type: str | None
    title: str | None
    html: str | None
    text: str | None
    markdown: str | None
    """Of the main content."""
    page_markdown: str | None
    """Of the whole page."""
    links: list[str] | None
    metadata: dict[str, Any] | None
    items: list[dict[str, Any]] | None
    """With rules: the first thousand."""
    missing: dict[str, str]
    """Requested formats that are missing, with the reason."""


@final
class StillScraping(TypedDict):
    """The page takes longer: poll the job. There is no `outcome` yet."""

    id: str
    """The id of the job."""
    state: JobState
    limiting: str | None
