"""Every option of a job, declared once.

The command line, spiders, rules, the API, `PATCH`, the defaults of `JobSpec` and docs/reference/options.md are made
from this table. A new option is one entry here, a field of JobSpec, and the code that uses it.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, TypedDict

from shoal.errors import UsageError
from shoal.model.option import MOST, Admin, Bound, Kind, Option, Section
from shoal.model.rendering import Render
from shoal.wording import did_you_mean, plural

RATE = Bound(0.0001, 10_000, whole=False, or_zero=True)
MAX_GAP_S = 1 / RATE.least
"""The longest gap between two requests of one job to one host, before the host's own pace extends it."""
TIMEOUT_S = Bound(0.1, 600, whole=False)
"""A lease does not limit it: the process that fetches extends its leases. A stop does: it waits 10 s for requests."""
_BOUNDS = {
    Kind.COUNT: Bound(1, MOST),
    Kind.RATE: RATE,
    Kind.SIZE: Bound(0, MOST),
    Kind.DURATION: Bound(0, 10**9, whole=False),
    Kind.SHARE: Bound(0, 1, whole=False),
    Kind.MONEY: Bound(0.0001, 10**9, whole=False),
}
"""Default bounds by kind."""
Texts = tuple[str, ...]
_MOST_CHARS = 256 * 1024
_MOST_ENTRIES = 20_000


class ScopeKind(StrEnum):
    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"
    ANY = "any"
    LISTED = "listed"


class Lane(StrEnum):
    """Class of service, best first."""

    EXPRESS = "express"
    BATCH = "batch"
    SLOW = "slow"


class Canonical(StrEnum):
    """What becomes of pages that name the same canonical URL."""

    RECORD = "record"
    MERGE = "merge"


class SpiderOptions(TypedDict, total=False):
    """What a spider and rules may set, as well as the command line and the API, which win over them."""

    max_pages: Annotated[
        int,
        Option(
            "Maximum number of pages to store.",
            Kind.COUNT,
            field="limits.pages",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    max_pages_per_host: Annotated[
        int,
        Option(
            "Maximum number of pages to store from one host.",
            Kind.COUNT,
            field="limits.pages_per_host",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    max_assets: Annotated[
        int,
        Option(
            "Maximum number of assets and files of items to store. They do not count as pages.",
            Kind.COUNT,
            field="limits.assets",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    max_depth: Annotated[
        int,
        Option(
            "Maximum number of links from a start URL to a page.",
            Kind.COUNT,
            bound=Bound(0, 10**6),
            field="limits.depth",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    max_seconds: Annotated[
        float,
        Option(
            "Stop after this time. Requests in flight get 10 s more.",
            Kind.DURATION,
            field="limits.seconds",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    scope: Annotated[
        str,
        Option(
            "Which links to follow. If the source is a list of URLs, the default is listed.",
            Kind.CHOICE,
            default=ScopeKind.HOST,
            choices=ScopeKind,
            can_change=True,
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    include: Annotated[
        Texts,
        Option(
            "Fetch only URLs that match: plain text, text with *, or re:REGEX.",
            Kind.PATTERN,
            can_change=True,
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    exclude: Annotated[
        Texts,
        Option(
            "Skip URLs that match, even if include matches them too.",
            Kind.PATTERN,
            can_change=True,
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    types: Annotated[
        Texts,
        Option(
            "Types of files to fetch and keep; all: every type. Without it: html, pdf, document, data, text.",
            Kind.FILE_TYPE,
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    sitemaps: Annotated[
        bool,
        Option(
            "Also fetch the URLs in the hosts' sitemaps, and in sitemaps and feeds that pages link to. Each of them "
            "counts as a page.",
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    assets: Annotated[
        bool,
        Option(
            "Also fetch images, styles, scripts and fonts, for export --mirror and replay.",
            section=Section.WHAT,
        ),
    ]
    rate: Annotated[
        float,
        Option(
            "Maximum requests per second to one host. 0 means no limit.",
            Kind.RATE,
            default=2.0,
            field="politeness.rate",
            admin=Admin.FAST,
            can_change=True,
            section=Section.POLITENESS,
        ),
    ]
    per_host: Annotated[
        int,
        Option(
            "Maximum concurrent requests per host.",
            Kind.COUNT,
            default=2,
            bound=Bound(1, 10_000),
            field="politeness.per_host",
            can_change=True,
            section=Section.POLITENESS,
        ),
    ]
    group: Annotated[
        str,
        Option(
            "What shares the rate: each host has its own, or all hosts of a domain have one.",
            Kind.CHOICE,
            default="host",
            choices=("host", "domain"),
            field="politeness.group",
            section=Section.POLITENESS,
        ),
    ]
    retries: Annotated[
        int,
        Option("Maximum retries per request.", Kind.COUNT, default=4, bound=Bound(0, 1000), section=Section.NETWORK),
    ]
    header: Annotated[
        Texts,
        Option(
            "Send this request header.",
            Kind.HEADER,
            field="headers",
            admin=Admin.ANY,
            secret=True,
            section=Section.NETWORK,
        ),
    ]
    cookie: Annotated[
        Texts,
        Option(
            "Send this cookie to the hosts of the start URLs.",
            Kind.COOKIE,
            field="cookies",
            admin=Admin.ANY,
            secret=True,
            section=Section.NETWORK,
        ),
    ]
    cookie_file: Annotated[
        str,
        Option(
            "Send the cookies of this file, each where it belongs. Netscape's format, as curl and browsers export it.",
            Kind.COOKIES,
            admin=Admin.ANY,
            secret=True,
            section=Section.NETWORK,
        ),
    ]
    no_cookies: Annotated[
        bool,
        Option(
            "Neither keep nor send cookies that hosts set.",
            field="use_cookies",
            negated=True,
            section=Section.NETWORK,
        ),
    ]
    proxy: Annotated[
        Texts,
        Option(
            "Send requests through this proxy. Several make a pool.",
            Kind.PROXY,
            field="proxies",
            admin=Admin.ANY,
            secret=True,
            section=Section.NETWORK,
        ),
    ]
    proxy_pool: Annotated[
        str,
        Option(
            "Send requests through the proxies that this file lists, or through the pool of this name.",
            Kind.PROXY_POOL,
            flag_name="--proxies",
            admin=Admin.ANY,
            secret=True,
            section=Section.NETWORK,
        ),
    ]
    region: Annotated[str, Option("Use only proxies of this region, such as de.", Kind.REGION, section=Section.NETWORK)]
    sticky_proxy: Annotated[
        bool,
        Option("Stay with one proxy per host, for 10 minutes or until it fails.", section=Section.NETWORK),
    ]
    direct_fallback: Annotated[
        bool,
        Option(
            "While no proxy works, send requests from this machine's own address instead of waiting.",
            admin=Admin.ANY,
            section=Section.NETWORK,
        ),
    ]
    ignore_robots: Annotated[
        bool,
        Option(
            "Neither fetch nor obey robots.txt, nor noindex and nofollow. You are responsible for the consequences.",
            field="politeness.robots",
            negated=True,
            admin=Admin.ANY,
            section=Section.POLITENESS,
        ),
    ]
    ignore_nofollow: Annotated[
        bool,
        Option(
            "Follow nofollow links. robots.txt still counts. Without a limit, the crawl of a site ends after 10,000 "
            "pages per host.",
            field="politeness.nofollow",
            negated=True,
            admin=Admin.ANY,
            section=Section.POLITENESS,
        ),
    ]
    allow_private: Annotated[
        bool, Option("Allow requests to private and loopback addresses.", admin=Admin.ANY, section=Section.NETWORK)
    ]
    timeout: Annotated[
        float,
        Option(
            "Maximum time for one request, from the connection to the last byte.",
            Kind.DURATION,
            default=45.0,
            bound=TIMEOUT_S,
            section=Section.NETWORK,
        ),
    ]
    max_page_bytes: Annotated[
        int,
        Option(
            "Maximum size of a response as received. Unpacked it may be four times as large, up to 40 MB.",
            Kind.SIZE,
            default=10_000_000,
            bound=Bound(1, 100_000_000),
            admin=Admin.LARGER,
            section=Section.NETWORK,
        ),
    ]
    insecure: Annotated[
        bool,
        Option(
            "Do not check certificates: anybody on the way can read and change the pages.",
            admin=Admin.ANY,
            section=Section.NETWORK,
        ),
    ]
    ca_file: Annotated[
        str,
        Option(
            "Trust the certificate authorities in this PEM file instead of the usual ones.",
            Kind.CERTIFICATES,
            field="ca_certificates",
            admin=Admin.ANY,
            section=Section.NETWORK,
        ),
    ]
    canonical: Annotated[
        str,
        Option(
            "With merge, pages that name the same canonical URL count as one: the first that is stored.",
            Kind.CHOICE,
            default=Canonical.RECORD,
            choices=Canonical,
            section=Section.DATA,
        ),
    ]
    keep_params: Annotated[
        Texts, Option("Never remove these query parameters, such as tracking ids.", Kind.PARAM, section=Section.WHAT)
    ]
    drop_params: Annotated[
        Texts, Option("Remove these query parameters from every URL.", Kind.PARAM, section=Section.WHAT)
    ]
    allow_trap: Annotated[
        Texts,
        Option(
            "Follow links even if this trap rule, or all, takes them for endless. The job's report names the rule.",
            Kind.TRAP,
            field="allow_traps",
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    allow_shape: Annotated[
        Texts,
        Option(
            "Request URLs of this shape, or all, even if its pages brought nothing new. The job's report names it.",
            Kind.SHAPE,
            field="allow_shapes",
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    sinks: Annotated[
        Texts,
        Option(
            "Deliver the items to this destination while the job runs, as in postgresql://HOST/DB?table=T.",
            Kind.SINK,
            flag_name="--sink",
            admin=Admin.ANY,
            section=Section.DATA,
        ),
    ]
    provenance: Annotated[
        bool,
        Option("Add URL, time, job and spider version to each item, in the output and in sinks.", section=Section.DATA),
    ]
    render: Annotated[
        str,
        Option(
            "Which pages to load in a browser. With auto: those that show too little without one.",
            Kind.CHOICE,
            default=Render.NEVER,
            choices=Render,
            section=Section.RENDERING,
        ),
    ]
    wait_for: Annotated[
        str,
        Option(
            "In the browser, wait until an element matches this CSS selector.",
            Kind.CSS,
            field="rendering.wait_for",
            section=Section.RENDERING,
        ),
    ]
    scroll: Annotated[
        bool,
        Option(
            "In the browser, scroll to the end until the page no longer grows.",
            field="rendering.scroll",
            section=Section.RENDERING,
        ),
    ]
    screenshot: Annotated[
        bool,
        Option(
            "Archive a picture of every page that the browser loads.",
            field="rendering.screenshot",
            section=Section.RENDERING,
        ),
    ]
    steps: Annotated[
        Texts,
        Option(
            "Take this step on every page in the browser, as in click:#more; see docs/rendering.md.",
            Kind.STEP,
            flag_name="--step",
            field="rendering.steps",
            secret=True,
            section=Section.RENDERING,
        ),
    ]
    viewport: Annotated[
        str,
        Option(
            "Size of the browser's window, as in 1280x800, or mobile.",
            Kind.VIEWPORT,
            field="rendering.viewport",
            section=Section.RENDERING,
        ),
    ]
    locale: Annotated[
        str,
        Option(
            "Language of the browser, as in de-CH.",
            Kind.LOCALE,
            field="rendering.locale",
            section=Section.RENDERING,
        ),
    ]
    time_zone: Annotated[
        str,
        Option(
            "Time zone of the browser, as in Europe/Zurich.",
            Kind.TIME_ZONE,
            field="rendering.time_zone",
            section=Section.RENDERING,
        ),
    ]
    block: Annotated[
        Texts,
        Option(
            "Keep pages in the browser from loading URLs that match.",
            Kind.PATTERN,
            field="rendering.block",
            section=Section.RENDERING,
        ),
    ]
    load_images: Annotated[
        bool,
        Option(
            "Let pages in the browser load images, fonts and media too.",
            field="rendering.load_images",
            section=Section.RENDERING,
        ),
    ]
    robots_strict: Annotated[
        bool,
        Option(
            "In the browser, obey robots.txt also for what scripts call and for frames.",
            field="rendering.robots_strict",
            section=Section.RENDERING,
        ),
    ]
    allow_empty: Annotated[
        bool,
        Option("Exit with code 0 even if the spider or rules found no item on any page.", section=Section.LIMITS),
    ]
    max_failure_rate: Annotated[
        float,
        Option(
            "Fail the job (exit code 3) if more than this share of its requests failed.",
            Kind.SHARE,
            section=Section.LIMITS,
        ),
    ]
    max_null_share: Annotated[
        float,
        Option(
            "Fail the job (exit code 3) if a field is empty in more than this share of the items.",
            Kind.SHARE,
            section=Section.LIMITS,
        ),
    ]
    max_change: Annotated[
        float,
        Option(
            "Fail the job (exit code 3) if items fell or empty fields rose by more than this share since the last job "
            "of the same name.",
            Kind.SHARE,
            section=Section.LIMITS,
        ),
    ]


class JobOptions(SpiderOptions, total=False):
    """Also the options that only the command line and the API may set."""

    name: Annotated[str, Option("Name of the job.", Kind.NAME)]
    argument: Annotated[
        Texts,
        Option(
            "Give this argument to the spider. Repeat it for a list.",
            Kind.ARGUMENT,
            field="arguments",
            short="-a",
            # A spider's start URLs may have arguments in them.
            selects_links=True,
            section=Section.WHAT,
        ),
    ]
    lane: Annotated[
        str,
        Option(
            "Class of service. Workers prefer express to batch, and batch to slow.",
            Kind.CHOICE,
            default=Lane.BATCH,
            choices=Lane,
            admin=Admin.EXPRESS,
            can_change=True,
        ),
    ]
    priority: Annotated[
        int,
        Option(
            "Priority of the job. Higher goes first.",
            Kind.COUNT,
            default=0,
            bound=Bound(-(10**6), 10**6),
            can_change=True,
        ),
    ]
    max_bytes: Annotated[
        int,
        Option(
            "Stop after receiving this many bytes.",
            Kind.SIZE,
            field="limits.bytes",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    max_cost: Annotated[
        float,
        Option(
            "Stop after spending this much on proxies, by the prices in their list.",
            Kind.MONEY,
            field="limits.cost",
            can_change=True,
            section=Section.LIMITS,
        ),
    ]
    formats: Annotated[
        Texts,
        Option(
            "Also store these forms of each page: metadata, main, markdown, page_markdown, tables.",
            Kind.FORMAT,
            section=Section.DATA,
        ),
    ]
    refresh: Annotated[
        bool, Option("Fetch only what changed since the last job of the same name.", section=Section.WHAT)
    ]
    no_text: Annotated[
        bool, Option("Do not store the text and links of pages.", field="text", negated=True, section=Section.DATA)
    ]
    no_archive: Annotated[
        bool, Option("Do not archive the raw responses.", field="archive", negated=True, section=Section.DATA)
    ]
    max_archive_bytes: Annotated[
        int,
        Option(
            "Maximum compressed size of the archive. Beyond it, the crawl goes on without archiving.",
            Kind.SIZE,
            section=Section.DATA,
        ),
    ]
    error_on_limit: Annotated[bool, Option("Exit with code 6 if a limit ended the job.", section=Section.LIMITS)]
    webhook: Annotated[
        str,
        Option(
            "POST to this URL whenever the job's state changes.",
            Kind.URL,
            field="webhook.url",
            secret=True,
            on_command_line=False,
        ),
    ]
    webhook_secret: Annotated[
        str,
        Option(
            "Sign the calls of the webhook with this secret.",
            Kind.SECRET,
            field="webhook.secret",
            secret=True,
            on_command_line=False,
        ),
    ]


def _table() -> dict[str, Option]:
    hints = typing.get_type_hints(JobOptions, include_extras=True)
    return {name: _completed(name, *typing.get_args(hint)) for name, hint in hints.items()}


def _completed(name: str, type_: Any, option: Option) -> Option:
    many = typing.get_origin(type_) is tuple
    implied = () if many else False if type_ is bool else None
    return replace(
        option,
        name=name,
        many=many,
        bound=option.bound or _BOUNDS.get(option.kind),
        field=option.field or name,
        default=implied if option.default is None else option.default,
        for_spiders=name in SpiderOptions.__annotations__,
    )


OPTIONS: Mapping[str, Option] = _table()
"""By name: that of the flag, with _ for -."""
FIELDS: Mapping[str, Option] = {option.field: option for option in OPTIONS.values()}
"""By the field of JobSpec and of the API's JSON."""
DEFAULTS: Mapping[str, Any] = {field: option.field_default for field, option in FIELDS.items()}
"""The defaults of the fields."""


def bound_of(option: str) -> Bound:
    """The bounds of a number, by the name of its option."""
    bound = OPTIONS[option].bound
    assert bound is not None, f"{option} is not a number"
    return bound


def check_options(options: Mapping[str, Any]) -> None:
    """Raises UsageError that names every fault, one on a line."""
    faults = [OPTIONS[name].fault(value) if name in OPTIONS else _unknown(name) for name, value in options.items()]
    if found := [fault for fault in faults if fault is not None]:
        raise UsageError("\n".join(found))


def _unknown(name: str) -> str:
    return f"there is no option {name!r}{did_you_mean(name, OPTIONS)}; there are {', '.join(OPTIONS)}"


def check_sent(options: Mapping[str, Any]) -> None:
    """Checks options that another program sends: every worker must be able to read them. Raises UsageError."""
    chars = len(json.dumps(dict(options)))
    entries = sum(len(value) for value in options.values() if isinstance(value, list | tuple))
    if chars > _MOST_CHARS or entries > _MOST_ENTRIES:
        raise UsageError(
            f"the options have {plural(chars, 'character')} and {plural(entries, 'entry')}; "
            f"give at most {plural(_MOST_CHARS, 'character')} and {plural(_MOST_ENTRIES, 'entry')}"
        )
    check_options(options)


def to_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that were checked, as JobSpec and the API's JSON have them."""
    fields: dict[str, Any] = {}
    for name, value in options.items():
        *groups, last = OPTIONS[name].path
        place = fields
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = OPTIONS[name].to_field(value)
    return fields


def from_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse. What is null or empty is left out."""
    found = {name: _at(fields, option.path) for name, option in OPTIONS.items()}
    return {name: OPTIONS[name].from_field(value) for name, value in found.items() if value not in (None, (), [], {})}


def _at(fields: Any, path: list[str]) -> Any:
    for part in path:
        fields = fields.get(part) if isinstance(fields, Mapping) else None
    return fields
