"""Hands a job to the fleet: it is stored whole with its inputs, in one transaction. Tend is woken, and seeds it.

Whatever is wrong with it, or away, is found before anything is stored.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

from shoal.errors import NeedsAdmin, Unavailable, UsageError
from shoal.fleet.fleet import Fleet
from shoal.jobs.job_id import new_job_id
from shoal.model import JobSpec, Lane, Requester
from shoal.model.option import Admin, Option
from shoal.model.options import OPTIONS, check_sent
from shoal.model.sink_url import check_fleet_sink, check_sink
from shoal.settings import Settings
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.input_sources import BadLine, Sources, empty_sources, given_urls
from shoal.spiders.spider_reference import SPIDER_MODULE
from shoal.spiders.url_lists import reason_words
from shoal.store.jobs import create_job
from shoal.telemetry import EventLogger, request_id

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

log = EventLogger(__name__)
_PLAIN = JobSpec("")
"""With every default."""
BAD_SHOWN = 3
_SELECTING_LINKS = {name for name, option in OPTIONS.items() if option.selects_links}
_TASK_TYPES: dict[str, tuple[type, ...]] = {
    "urls": (list,),
    "rules": (dict, NoneType),
    "spider": (str, NoneType),
    "options": (dict, NoneType),
}


@dataclass(frozen=True, slots=True)
class Submitted:
    id: str
    accepted: int
    """Distinct requests."""
    duplicates: int
    rejected: int
    bad: Sequence[BadLine]
    """The first of the rejected, with the reasons."""


async def submit(
    fleet: Fleet, sources: Sources, spec: Callable[[], JobSpec], id: str | None = None, owner: str | None = None
) -> Submitted:
    """The spec is asked for when the sources have been read; what it raises leaves no job behind. An id that is given
    must be new."""
    # Both servers before the sources, which may take a while to read, and come only once.
    await fleet.frontier.connection.check()
    id = id or new_job_id()
    asked = request_id.get()

    def checked() -> JobSpec:
        made = spec()
        for text in made.sinks:
            if (url := check_sink(text)) is not None:
                check_fleet_sink(url, fleet.settings.spiders)
        return made

    create_job(fleet.store, id, checked, sources.inputs, time.time(), fleet=True, request_id=asked, owner=owner)
    words = f"job {id} is submitted with {sources.good} URL{'' if sources.good == 1 else 's'}"
    log.info("job_submitted", words, job=id, urls=sources.good)
    with suppress(Unavailable):
        # The job is safe, and tend finds it without being rung.
        await fleet.ring()
    return Submitted(id, sources.good, sources.duplicates, sources.bad_count, sources.bad)


async def submit_request(
    fleet: Fleet,
    urls: Sequence[str | None],
    rules: Mapping[str, Any] | None,
    spider: str | None,
    options: Mapping[str, Any],
    id: str | None = None,
    *,
    by: Requester,
) -> Submitted:
    """Takes what `read_request` takes; the job belongs to nobody. Raises UsageError."""
    sources, spec_once_read = read_request(fleet.settings, urls, rules, spider, options, by)
    return await submit(fleet, sources, spec_once_read, id)


async def submit_task(fleet: Fleet, asked: Mapping[str, Any]) -> Submitted:
    """As a message of the broker asks for it: with what a submitter may have over the API. Raises UsageError."""
    for name, value in asked.items():
        if not isinstance(value, _TASK_TYPES.get(name, ())):
            raise UsageError(f"{name} of shoal.submit: it takes urls (list), rules, options (objects), spider (text)")
    urls, rules, options = asked.get("urls", []), asked.get("rules"), asked.get("options") or {}
    if not all(isinstance(url, str) for url in urls):
        raise UsageError("urls of shoal.submit must be a list of texts")
    if needing := options_for_admins(options, rules, fleet.settings.max_rate):
        raise NeedsAdmin(f"over the broker no job may have {', '.join(needing)}: an admin can submit it over the API")
    return await submit_request(fleet, urls, rules, asked.get("spider"), options, by=Requester.SUBMITTER)


def options_for_admins(options: Mapping[str, Any], rules: Mapping[str, Any] | None, max_rate: float) -> list[str]:
    """Which of a job's options, or of those in its rules, only an admin may give, by their names in the API.

    A spider's own are not looked at: the operator has chosen it.
    """
    said = rules.get("options") if rules else None
    given = {**(said if isinstance(said, Mapping) else {}), **options}
    reasons = (_needs_admin(option, given.get(name), max_rate) for name, option in OPTIONS.items())
    return [reason for reason in reasons if reason is not None]


def _needs_admin(option: Option, value: Any, max_rate: float) -> str | None:
    match option.admin:
        case Admin.ANY if value:
            return option.field
        case Admin.FAST if isinstance(value, int | float) and (value == 0 or value > max_rate):
            return f"{option.field} above {max_rate:g}"
        # Many of them at a time take much of a worker's memory.
        case Admin.LARGER if isinstance(value, int | float) and value > option.default:
            return f"{option.field} above {option.default}"
        # It goes before the jobs of everybody else, for as long as there is anything to fetch.
        case Admin.EXPRESS if value == Lane.EXPRESS:
            return f"{option.field} {value}"
    return None


def read_request(
    settings: Settings,
    urls: Sequence[str | None],
    rules: Mapping[str, Any] | None,
    spider: str | None,
    options: Mapping[str, Any],
    by: Requester,
    urls_follow: bool = False,
) -> tuple[Sources, Callable[[], JobSpec]]:
    """What `submit` takes, from what another program sends as plain JSON.

    Rules are data; a spider is named by its import path, and only of a module that SHOAL_SPIDERS lists. No URL is
    taken for the name of a file. With `urls_follow` a job that has no URL waits for those that are appended. Raises
    UsageError.
    """
    loaded = _spider(rules, spider, settings.spiders)
    check_sent(options)
    draft = JobDraft.of(options, loaded, settings.allow_private and by is not Requester.SUBMITTER, by)
    loaded = draft.spider
    given = [*urls, *(loaded.urls if loaded else ())]
    waits = urls_follow and not given
    if loaded is not None and not given and not waits:
        raise UsageError(f"the spider {loaded.name} names no URL to start from: give one")
    sources = empty_sources(draft.params, draft.group) if waits else given_urls(given, draft.params, draft.group)
    spec = draft.spec(sources, None)
    if by is Requester.SUBMITTER:
        goes_on = spec.limits.allow_more_than(JobDraft.of({}, loaded, allow_private=False).limits)
        leads_elsewhere = bool(urls or options.keys() & _SELECTING_LINKS or goes_on)
        _check_privileges(spec, settings.max_rate, leads_elsewhere)

    def spec_once_read() -> JobSpec:
        if not sources.good and not waits:
            raise UsageError(f"none of the urls can be fetched: {_bad_urls(sources)}")
        return replace(spec, credentials=sources.credentials, agent=settings.user_agent)

    return sources, spec_once_read


def _bad_urls(sources: Sources) -> str:
    """The first of them, with the reasons."""
    shown = [f"{bad.spelt!r} {reason_words(bad.reason)}" for bad in sources.bad[:BAD_SHOWN]]
    more = sources.bad_count - len(shown)
    return "; ".join([*shown, *([f"and {more:,} more"] if more else [])])


def privileges(spec: JobSpec, max_rate: float) -> list[str]:
    """What the job has that over the API only an admin may give it, by its names there."""
    fields = [option.field for option in OPTIONS.values() if option.admin is Admin.ANY]
    had = [field for field in (*fields, "credentials") if attrgetter(field)(spec) != attrgetter(field)(_PLAIN)]
    # The usual rate is nobody's gift, however low the operator's limit is.
    most, rate = max(max_rate, _PLAIN.politeness.rate), spec.politeness.rate
    hasty = [f"politeness.rate above {most:g}"] if rate == 0 or rate > most else []
    return had + hasty


def _check_privileges(spec: JobSpec, max_rate: float, leads_elsewhere: bool) -> None:
    """A spider's own are the operator's choice, but for where the spider leads: with them no submitter leads it
    elsewhere or further, nor anywhere private."""
    had = privileges(spec, max_rate)
    if had and (leads_elsewhere or spec.allow_private):
        raise NeedsAdmin(
            f"only an admin token may submit this job: its spider sets {', '.join(had)}, "
            "and the job gives it other URLs or private addresses"
        )


def _spider(rules: Mapping[str, Any] | None, spider: str | None, allowed: Sequence[str]) -> Spider | None:
    if rules is not None and spider is not None:
        raise UsageError("a job has rules or a spider, not both")
    if rules is not None:
        from shoal.spiders.rules import from_json

        return from_json(json.dumps(rules))
    if spider is None:
        return None
    found = SPIDER_MODULE.fullmatch(spider)
    if found is None or found["module"] not in allowed:
        known = ", ".join(allowed) or "none"
        raise UsageError(f"spider {spider!r} is not package.module:name of a module in SHOAL_SPIDERS (it has: {known})")
    from shoal.spiders.load_spider import load_spider

    return load_spider(spider)
