"""A job: its options, limits and politeness, and the inputs that it starts from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shoal import __version__
from shoal.model.option import Kind
from shoal.model.options import DEFAULTS, MAX_GAP_S, OPTIONS, Canonical, Lane, ScopeKind
from shoal.model.rendering import Render, Rendering, step_text, steps_of, viewport_of
from shoal.model.request import Target

AGENT = f"shoal/{__version__}"
NEWEST = "last"
"""Stands for the newest job wherever a job is named, so no job may have this name."""
_TUPLES = {
    option.field for option in OPTIONS.values() if option.many and option.kind not in (Kind.HEADER, Kind.ARGUMENT)
}
"""Fields of JobSpec that JSON has as lists."""


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    LIMITED = "limited"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = frozenset({JobState.DONE, JobState.LIMITED, JobState.CANCELLED, JobState.FAILED})


class Requester(StrEnum):
    """Who requested a job. It decides what the job may do."""

    OPERATOR = "operator"
    """Somebody with direct access to the home, or to the servers of the fleet."""
    ADMIN = "admin"
    """Over the API, with a token of the scope admin."""
    SUBMITTER = "submitter"
    """Over the API, with any other token."""


MOST_NOFOLLOW_PAGES = 10_000
"""Of one host in a job with `--ignore-nofollow`, if it has no limit of its own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a job early; None means no limit."""

    pages: int | None = DEFAULTS["limits.pages"]
    depth: int | None = DEFAULTS["limits.depth"]
    bytes: int | None = DEFAULTS["limits.bytes"]
    seconds: float | None = DEFAULTS["limits.seconds"]
    pages_per_host: int | None = DEFAULTS["limits.pages_per_host"]
    cost: float | None = DEFAULTS["limits.cost"]
    assets: int | None = DEFAULTS["limits.assets"]

    def allow_more_than(self, other: Limits) -> bool:
        """Whether one of them ends a job later than the other's does, or never."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return any(theirs is not None and (ours is None or ours > theirs) for ours, theirs in pairs)


def reached(limit: str) -> str:
    """The reason of a job that a limit ended, by its name in Limits; others may add words behind it."""
    return f"its limit of {limit} is reached"


def reached_limit(reason: str | None) -> str | None:
    """The name of the limit that ended a job, if `reached` told why it ended."""
    names = (limit.name for limit in dataclasses.fields(Limits))
    return next((name for name in names if (reason or "").startswith(reached(name))), None)


def without_port(host: str) -> str:
    hostname, _, port = host.rpartition(":")
    return hostname if port.isdigit() else host


@dataclass(frozen=True, slots=True)
class HostPoliteness:
    """How a job treats one host."""

    host: str
    """A hostname, which stands for all its ports."""
    rate: float
    per_host: int

    @property
    def gap_s(self) -> float:
        return _gap_s(self.rate)


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a job treats a host."""

    rate: float = DEFAULTS["politeness.rate"]
    per_host: int = DEFAULTS["politeness.per_host"]
    group: str = DEFAULTS["politeness.group"]
    robots: bool = DEFAULTS["politeness.robots"]
    nofollow: bool = DEFAULTS["politeness.nofollow"]
    hosts: tuple[HostPoliteness, ...] = ()
    """Hosts that are treated otherwise than the others."""

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Politeness:
        hosts = tuple(HostPoliteness(**host) for host in fields.get("hosts", ()))
        return cls(**{**fields, "hosts": hosts})

    def rate_at(self, host: str) -> float:
        return next((own.rate for own in self.hosts if own.host in (host, without_port(host))), self.rate)

    @property
    def obeys_nofollow(self) -> bool:
        return self.robots and self.nofollow

    @property
    def gap_s(self) -> float:
        return _gap_s(self.rate)


def _gap_s(rate: float) -> float:
    # A job that was stored before rates had bounds may have any.
    return min(1 / rate, MAX_GAP_S) if rate else 0.0


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How a browser loads the pages of a job."""

    wait_for: str | None = DEFAULTS["rendering.wait_for"]
    scroll: bool = DEFAULTS["rendering.scroll"]
    screenshot: bool = DEFAULTS["rendering.screenshot"]
    steps: tuple[str, ...] = DEFAULTS["rendering.steps"]
    """As text; taken after `wait_for` and before `scroll` and `screenshot`."""
    viewport: str | None = DEFAULTS["rendering.viewport"]
    locale: str | None = DEFAULTS["rendering.locale"]
    time_zone: str | None = DEFAULTS["rendering.time_zone"]
    block: tuple[str, ...] = DEFAULTS["rendering.block"]
    load_images: bool = DEFAULTS["rendering.load_images"]
    robots_strict: bool = DEFAULTS["rendering.robots_strict"]

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> RenderOptions:
        lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return cls(**{**fields, **lists})

    @property
    def rendering(self) -> Rendering:
        """Raises UsageError."""
        waits = [step_text({"wait": self.wait_for})] if self.wait_for else []
        shown = [*["scroll"] * self.scroll, *["screenshot"] * self.screenshot]
        return Rendering(
            steps_of([*waits, *self.steps, *shown]),
            viewport_of(self.viewport),
            self.locale or "",
            self.time_zone or "",
            self.block,
            self.load_images,
            self.robots_strict,
        )


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to report changes of the job's state."""

    url: str
    secret: str | None = None
    """The key that signs the reports."""


PACKAGE = "package:"
"""How the project of a `ScrapyRun` begins if it was uploaded."""


@dataclass(frozen=True, slots=True)
class ScrapyRun:
    """How workers of a fleet run a spider of a Scrapy project."""

    project: str
    """The absolute path of its folder, or the import path of its settings, or PACKAGE with the digest of a project that
    was uploaded."""
    arguments: Mapping[str, str]
    """Of the spider, as `scrapy crawl -a` gives them."""
    settings: Mapping[str, str]
    """As `scrapy crawl -s` gives them."""
    processes: int = 1
    name: str | None = None
    """The name of the project in scrapyd's API, if the job was scheduled there."""
    version: str | None = None
    """The version there of an uploaded project."""
    jobid: str | None = None
    """The id of the job there: Shoal's own, or the one that the caller gave."""

    @property
    def package(self) -> str | None:
        """The digest of an uploaded project."""
        return self.project.removeprefix(PACKAGE) if self.project.startswith(PACKAGE) else None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Everything about a job that is fixed when it starts, except its inputs."""

    name: str
    scope: ScopeKind = DEFAULTS["scope"]
    include: tuple[str, ...] = DEFAULTS["include"]
    exclude: tuple[str, ...] = DEFAULTS["exclude"]
    types: tuple[str, ...] = DEFAULTS["types"]
    sitemaps: bool = DEFAULTS["sitemaps"]
    assets: bool = DEFAULTS["assets"]
    limits: Limits = field(default_factory=Limits)
    politeness: Politeness = field(default_factory=Politeness)
    lane: Lane = DEFAULTS["lane"]
    priority: int = DEFAULTS["priority"]
    retries: int = DEFAULTS["retries"]
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = DEFAULTS["cookies"]
    use_cookies: bool = DEFAULTS["use_cookies"]
    """Whether cookies that hosts set are kept and sent."""
    cookie_file: str | None = DEFAULTS["cookie_file"]
    """Cookies with domain, path and expiry, one on a line."""
    proxies: tuple[str, ...] = DEFAULTS["proxies"]
    proxy_pool: str | None = DEFAULTS["proxy_pool"]
    """The name of a pool, or the text of a list."""
    region: str | None = DEFAULTS["region"]
    sticky_proxy: bool = DEFAULTS["sticky_proxy"]
    direct_fallback: bool = DEFAULTS["direct_fallback"]
    credentials: Mapping[str, str] = field(default_factory=dict)
    """origin -> "user:password", taken out of the seeds so that no key, log or export carries them."""
    agent: str = AGENT
    """The operator's name for the crawler, as it was when the job was made."""
    asked_by: Requester = Requester.OPERATOR
    render: Render = DEFAULTS["render"]
    rendering: RenderOptions = field(default_factory=RenderOptions)
    allow_private: bool = DEFAULTS["allow_private"]
    """Never of a submitter's; see `reaches_private`."""
    timeout: float = DEFAULTS["timeout"]
    max_page_bytes: int = DEFAULTS["max_page_bytes"]
    insecure: bool = DEFAULTS["insecure"]
    """Certificates are not checked."""
    ca_certificates: str | None = DEFAULTS["ca_certificates"]
    """PEM text of the authorities to trust, not a path: the job may run on another machine."""
    canonical: Canonical = DEFAULTS["canonical"]
    keep_params: tuple[str, ...] = DEFAULTS["keep_params"]
    drop_params: tuple[str, ...] = DEFAULTS["drop_params"]
    allow_traps: tuple[str, ...] = DEFAULTS["allow_traps"]
    allow_shapes: tuple[str, ...] = DEFAULTS["allow_shapes"]
    refresh: bool = DEFAULTS["refresh"]
    allow_empty: bool = DEFAULTS["allow_empty"]
    max_failure_rate: float | None = DEFAULTS["max_failure_rate"]
    error_on_limit: bool = DEFAULTS["error_on_limit"]
    spider: str | None = None
    """`shop.py:books` or `package.module:books`; loaded each time the job runs."""
    arguments: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Of the spider, as they were given; its signature types them whenever it is loaded."""
    scrapy: str | None = None
    """The name of the Scrapy spider whose own processes work on the job (`shoal.scrapy`)."""
    scrapy_run: ScrapyRun | None = None
    """If the workers of the fleet run these processes."""
    scrapy_redis: bool = False
    """The job was imported from scrapy-redis, and tells requests apart as that does."""
    rules: str | None = None
    """Rules as JSON text: data, not code, so they travel with the job."""
    formats: tuple[str, ...] = DEFAULTS["formats"]
    """Extra forms of each page record: metadata, main, markdown, page_markdown, tables."""
    max_null_share: float | None = DEFAULTS["max_null_share"]
    max_change: float | None = DEFAULTS["max_change"]
    text: bool = DEFAULTS["text"]
    """Whether the text and links of pages are stored."""
    text_beside_items: bool = False
    """Whether that, and the formats, are kept too of pages that a spider or rules take items from."""
    archive: bool = DEFAULTS["archive"]
    max_archive_bytes: int | None = DEFAULTS["max_archive_bytes"]
    """Maximum size of the archive. Beyond it, the job continues without archiving."""
    webhook: Webhook | None = None
    sinks: tuple[str, ...] = DEFAULTS["sinks"]
    """Where the items go while the job runs: URLs without secrets, which they only name."""
    provenance: bool = DEFAULTS["provenance"]
    """Whether items say where they come from, in the output and in sinks."""
    output: str | None = None
    """The absolute path of the file that gets the data, the URL of an object in a bucket, or - for stdout. A dataset
    ends with a slash."""
    output_fields: tuple[str, ...] = ()
    """The columns of that file; all if empty."""
    output_kept_bytes: int = 0
    """The size of the file before the job: its data follows."""
    output_partition: str | None = None
    """The field by which a dataset is divided; None: the day of the fetch."""
    output_overwrite: bool = False
    """Whether the parts of other jobs leave the dataset."""

    @property
    def user_agent(self) -> str:
        """How the job names itself to hosts: by a header of its own, if it has one."""
        return next((value for name, value in self.headers.items() if name.lower() == "user-agent"), self.agent)

    @property
    def has_proxies(self) -> bool:
        """Then nothing is fetched from this machine's own address, unless `direct_fallback` says so."""
        return bool(self.proxies or self.proxy_pool)

    @property
    def is_logged_in(self) -> bool:
        """Whether the job was given what a login gives: cookies or credentials."""
        secret = any(name.lower() in ("authorization", "cookie") for name in self.headers)
        return bool(self.cookies or self.cookie_file or self.credentials or secret)

    def with_fields(self, fields: Mapping[str, Any]) -> JobSpec:
        """A copy with these fields replaced; limits and politeness keep those that are not named."""
        limits = dataclasses.replace(self.limits, **fields.get("limits", {}))
        politeness = dataclasses.replace(self.politeness, **fields.get("politeness", {}))
        return dataclasses.replace(self, **{**fields, "limits": limits, "politeness": politeness})

    def reaches_private(self, worker_allows: bool) -> bool:
        """Over the API nobody decides alone what a worker reaches: its own setting has to allow it too."""
        return self.allow_private and (worker_allows or self.asked_by is Requester.OPERATOR)

    def reaches_private_proxy(self, worker_allows: bool) -> bool:
        """Likewise of a proxy, which is a host that gets requests too; an operator's own may be private."""
        return worker_allows or self.asked_by is Requester.OPERATOR

    @property
    def private_way_out(self) -> str:
        """The options that would let the job reach private addresses."""
        if self.asked_by is Requester.OPERATOR:
            return "--allow-private"
        worker = "SHOAL_ALLOW_PRIVATE=on at the workers"
        return worker if self.allow_private else f"allow_private of an admin together with {worker}"

    @property
    def overrides(self) -> list[str]:
        """What was set aside for this job of how hosts are usually treated, so that its record shows it."""
        # A contact only adds to the usual name.
        usual = self.user_agent == AGENT or self.user_agent.startswith(f"{AGENT} ")
        set_aside = {
            "ignore_robots": not self.politeness.robots,
            "ignore_nofollow": not self.politeness.nofollow,
            "allow_private": self.allow_private,
            "insecure": self.insecure,
            "ca_file": self.ca_certificates is not None,
            "rate_0": not (self.politeness.rate and all(own.rate for own in self.politeness.hosts)),
            "user_agent": not usual,
        }
        return [name for name, given in set_aside.items() if given]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        raw = json.loads(text)
        if "output_provenance" in raw:
            # Its name in homes that were made before sinks had it.
            raw["provenance"] = raw.pop("output_provenance")
        return cls(
            **{
                **raw,
                **{name: tuple(raw[name]) for name in _TUPLES & raw.keys()},
                "output_fields": tuple(raw.get("output_fields", ())),
                "asked_by": Requester(raw["asked_by"]),
                "scope": ScopeKind(raw["scope"]),
                "lane": Lane(raw["lane"]),
                "canonical": Canonical(raw.get("canonical", DEFAULTS["canonical"])),
                "render": Render(raw.get("render", DEFAULTS["render"])),
                "rendering": RenderOptions.of_fields(raw.get("rendering", {})),
                "limits": Limits(**raw["limits"]),
                "politeness": Politeness.of_fields(raw["politeness"]),
                "webhook": Webhook(**raw["webhook"]) if raw["webhook"] else None,
                "scrapy_run": ScrapyRun(**raw["scrapy_run"]) if raw.get("scrapy_run") else None,
            }
        )


@dataclass(slots=True)
class Input:
    """One URL as the user wrote it, with its position in the list."""

    line: int
    spelt: str
    target: Target | None
    reason: str | None = None
    """Why it was rejected."""
    duplicate_of: int | None = None
    columns: Mapping[str, str] | None = None
    """The row of the list, if the list has columns."""
