"""A job as it is asked for, and its figures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from shoal.control.models.given import WHOLE, Body, Cursor, Query, Text, Told
from shoal.extract.formats import FORMATS
from shoal.model import JobState, Lane, ScopeKind
from shoal.model.bounds import BOUNDS, RATE
from shoal.urls.traps import ALL, RULES


def _bounds(option: str) -> Any:
    bound = BOUNDS[option]
    return Field(ge=bound.schema_least, le=bound.most)


def _rate(rate: float) -> float:
    if not RATE.holds(rate):
        raise ValueError(f"give {RATE.wants}")
    return rate


Rate = Annotated[
    float,
    AfterValidator(_rate),
    Field(ge=0, le=RATE.most, json_schema_extra={"anyOf": [{"const": 0}, {"minimum": RATE.least}]}),
]
PerHost = Annotated[int, _bounds("per_host"), WHOLE]
Priority = Annotated[int, _bounds("priority"), WHOLE]
Count = Annotated[int, _bounds("max_pages"), WHOLE]
Amount = Annotated[int, _bounds("max_bytes"), WHOLE]
Share = Annotated[float, _bounds("max_failure_rate")]
Line = Annotated[str, StringConstraints(max_length=8_000, pattern=r"^[^\r\n]*$")]
Named = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"\S")]
Names = Annotated[tuple[Named, ...], Field(max_length=10_000, fail_fast=True)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"\S")]
Patterns = Annotated[tuple[Pattern, ...], Field(max_length=10_000, fail_fast=True)]
Proxy = Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(https?|socks5h?)://[^\s/]+")]
Proxies = Annotated[tuple[Proxy, ...], Field(max_length=10_000, fail_fast=True)]
Format = Annotated[Text, Field(json_schema_extra={"enum": list(FORMATS)})]
Formats = Annotated[tuple[Format, ...], Field(max_length=10_000, fail_fast=True)]
TrapRule = Annotated[Text, Field(json_schema_extra={"enum": [*RULES, ALL]})]
TrapRules = Annotated[tuple[TrapRule, ...], Field(max_length=10_000, fail_fast=True)]
Lines = Annotated[dict[Named, Line], Field(max_length=1_000)]
_WITH_RULES: JsonDict = {"required": ["rules"], "properties": {"rules": {"type": "object"}}}
_WITH_SPIDER: JsonDict = {"required": ["spider"], "properties": {"spider": {"type": "string"}}}


class LimitsGiven(Body):
    """What ends the job early."""

    pages: Count | None = None
    depth: Annotated[int, _bounds("max_depth"), WHOLE] | None = None
    bytes: Amount | None = None
    seconds: Annotated[float, _bounds("max_seconds")] | None = None
    pages_per_host: Count | None = None


class PolitenessGiven(Body):
    """How hosts are treated. `robots: false`, and a rate of 0 or above the operator's max_rate, need an admin."""

    rate: Rate | None = None
    per_host: PerHost | None = None
    group: Literal["host", "domain"] | None = None
    robots: bool | None = None


class WebhookGiven(Body):
    """Told by POST whenever the job's state changes; signed, if there is a secret."""

    url: Annotated[str, Field(max_length=2000, pattern=r"^https?://[^\s/]")]
    secret: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class JobOrder(Body):
    """What to crawl. `allow_private`, `headers`, `cookies`, `proxies` and the lane `express` need an admin."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["urls"]}, _WITH_RULES, _WITH_SPIDER],
            "not": {"allOf": [_WITH_RULES, _WITH_SPIDER]},
        }
    )

    urls: Annotated[tuple[str | None, ...], Field(fail_fast=True)] = Field(
        (), description="null stands for a line that has none, of a list whose lines are to keep their numbers."
    )
    rules: dict[str, Any] | None = Field(
        None,
        description="Rules as JSON: see `shoal check` and docs/reference/rules.md.",
        json_schema_extra={"required": ["start"]},
    )
    spider: Text | None = Field(
        None,
        pattern=r"^[^\s:]+:[^\s:]+$",
        description="package.module:name, of a module in the operator's SHOAL_SPIDERS.",
    )
    name: Named | None = None
    scope: ScopeKind | None = None
    include: Patterns = ()
    exclude: Patterns = ()
    sitemaps: bool | None = None
    limits: LimitsGiven = LimitsGiven()
    politeness: PolitenessGiven = PolitenessGiven()
    lane: Lane | None = None
    priority: Priority | None = None
    render: Literal["never"] | None = None
    archive: bool | None = None
    max_archive_bytes: Amount | None = None
    text: bool | None = None
    formats: Formats = ()
    retries: Annotated[int, _bounds("retries"), WHOLE] | None = None
    refresh: bool | None = None
    headers: Lines = Field(default_factory=dict)
    cookies: Lines = Field(default_factory=dict)
    proxies: Proxies = ()
    keep_params: Names = ()
    drop_params: Names = ()
    allow_traps: TrapRules = ()
    allow_private: bool | None = None
    max_failure_rate: Share | None = None
    max_null_share: Share | None = None
    max_change: Share | None = None
    error_on_limit: bool | None = None
    webhook: WebhookGiven | None = None

    @property
    def urls_follow(self) -> bool:
        """An empty list says so; one that is missing was forgotten."""
        return "urls" in self.model_fields_set and not self.urls

    def options(self) -> dict[str, Any]:
        """Those that were given, by the names of the flags."""
        limits = {f"max_{name}": value for name, value in self.limits.model_dump().items()}
        polite = self.politeness
        flags = {
            **{name: getattr(self, name) for name in _SAME},
            **limits,
            **{name: getattr(polite, name) for name in ("rate", "per_host", "group")},
            "ignore_robots": None if polite.robots is None else not polite.robots,
            "no_archive": None if self.archive is None else not self.archive,
            "no_text": None if self.text is None else not self.text,
            "header": [f"{name}: {value}" for name, value in self.headers.items()],
            "cookie": [f"{name}={value}" for name, value in self.cookies.items()],
            "proxy": self.proxies,
            "allow_trap": self.allow_traps,
            "webhook": self.webhook.url if self.webhook else None,
            "webhook_secret": self.webhook.secret if self.webhook else None,
        }
        return {name: value for name, value in flags.items() if value is not None and value not in ((), [])}


_SAME = (
    *("name", "scope", "include", "exclude", "sitemaps", "lane", "priority", "max_archive_bytes", "formats"),
    *("retries", "refresh", "keep_params", "drop_params", "allow_private"),
    *("max_failure_rate", "max_null_share", "max_change", "error_on_limit"),
)


class Rejected(Told):
    url: str
    reason: str


class Created(Told):
    """The job is stored with its URLs; the fleet begins by itself."""

    id: str
    name: str
    state: JobState
    accepted: int
    duplicates: int
    rejected: list[Rejected] = Field(description="The first thousand.")
    rejected_count: int


class Trap(Told):
    rule: str
    links: int
    samples: list[str]
    allow: str


class WebhookShown(Told):
    delivered: int
    waiting: int
    given_up: int
    fault: str | None = Field(description="Why the last one that was not delivered was not.")


class JobFigures(Told):
    """One job as it stands."""

    id: str
    name: str
    state: JobState
    lane: Lane
    created_at: str
    started_at: str | None
    finished_at: str | None
    found: int
    queued: int
    leased: int
    pages: int
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    items: int
    bytes: int
    by_status: dict[str, int]
    hosts: int
    archive_bytes: int
    unarchived: int
    limiting: str | None = Field(description="What it waits for, in words; of one that has ended, why.")
    traps: list[Trap]
    overrides: list[str]
    user_agent: str
    version: int = Field(description="One more with every change to the job.")
    webhook: WebhookShown | None = Field(description="null: nobody is to be told.")
    owner: str | None = Field(
        description="The name of the submit token that it belongs to, or the id of one that was removed. null: it is "
        "the admins', or everybody's where jobs are shared; readers are not told."
    )


class JobList(Told):
    """Newest first."""

    jobs: list[JobFigures]
    next: str | None = Field(description="The cursor of what follows; null at the end.")


class JobsQuery(Query):
    state: Literal["queued", "running", "paused", "done", "limited", "cancelled", "failed"] | None = Field(
        None, description="As it is stored: a job that waits is queued or running."
    )
    lane: Lane | None = None
    name: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Cursor | None = None


class Steered(Told):
    """What comes of it, in words."""

    id: str
    state: JobState
    detail: str
