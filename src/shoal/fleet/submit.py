"""Hands a job to the fleet: it is stored whole with its inputs, in one transaction, and tend is rung, who seeds it.

Whatever is wrong with it, or away, is found before anything is stored.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Any

from shoal.errors import NeedsAdmin, Unavailable, UsageError
from shoal.fleet.place import Fleet
from shoal.jobs.job_id import new_job_id
from shoal.model import Asker, JobSpec, Lane, Politeness
from shoal.settings import Settings
from shoal.spiders.naming import SPIDER_MODULE
from shoal.spiders.sources import BadLine, Sources, given_urls, no_urls
from shoal.spiders.wish import Wish
from shoal.store.jobs import create_job
from shoal.telemetry import Events, request_id

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

log = Events(__name__)
_LEADING = frozenset({"scope", "include", "exclude", "sitemaps", "allow_trap"})
"""Options that decide which links are followed; how many are is decided by limits."""

_TASK_TYPES: dict[str, tuple[type, ...]] = {
    "urls": (list,),
    "rules": (dict, NoneType),
    "spider": (str, NoneType),
    "options": (dict, NoneType),
}
_ADMINS = {
    "allow_private": "allow_private",
    "ignore_robots": "politeness.robots",
    "proxy": "proxies",
    "header": "headers",
    "cookie": "cookies",
}
"""Options that only an admin may give -> what the API calls them."""


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
    create_job(fleet.store, id, spec, sources.inputs, time.time(), fleet=True, request_id=asked, owner=owner)
    words = f"job {id} is submitted with {sources.good} URL{'' if sources.good == 1 else 's'}"
    log.info("job_submitted", words, job=id, urls=sources.good)
    with suppress(Unavailable):
        # The job is safe, and tend finds it without being rung.
        await fleet.ring()
    return Submitted(id, sources.good, sources.duplicates, sources.bad_count, sources.bad)


async def submit_asked(
    fleet: Fleet,
    urls: Sequence[str | None],
    rules: Mapping[str, Any] | None,
    spider: str | None,
    options: Mapping[str, Any],
    id: str | None = None,
    *,
    by: Asker,
) -> Submitted:
    """As `read_asked` takes it; the job belongs to nobody. Raises UsageError."""
    sources, spec_once_read = read_asked(fleet.settings, urls, rules, spider, options, by)
    return await submit(fleet, sources, spec_once_read, id)


async def submit_task(fleet: Fleet, asked: Mapping[str, Any]) -> Submitted:
    """As a message of the broker asks for it: with what a submitter may have over the API. Raises UsageError."""
    for name, value in asked.items():
        if not isinstance(value, _TASK_TYPES.get(name, ())):
            raise UsageError(f"{name} of shoal.submit: it takes urls (list), rules, options (objects), spider (text)")
    urls, rules, options = asked.get("urls", []), asked.get("rules"), asked.get("options") or {}
    if not all(isinstance(url, str) for url in urls):
        raise UsageError("urls of shoal.submit must be a list of texts")
    if needing := admins_options(options, rules, fleet.settings.max_rate):
        raise NeedsAdmin(f"over the broker no job may have {', '.join(needing)}: an admin can submit it over the API")
    return await submit_asked(fleet, urls, rules, asked.get("spider"), options, by=Asker.SUBMITTER)


def admins_options(options: Mapping[str, Any], rules: Mapping[str, Any] | None, max_rate: float) -> list[str]:
    """Which of a job's options, or of those in its rules, only an admin may give, by their names in the API.

    A spider's own are not looked at: the operator has chosen it.
    """
    said = rules.get("options") if rules else None
    given = {**(said if isinstance(said, Mapping) else {}), **options}
    needing = [name for option, name in _ADMINS.items() if given.get(option)]
    rate = given.get("rate")
    if isinstance(rate, int | float) and (rate == 0 or rate > max_rate):
        needing.append(f"politeness.rate above {max_rate:g}")
    # It goes before the jobs of everybody else, for as long as there is anything to fetch.
    if given.get("lane") == Lane.EXPRESS:
        needing.append("lane express")
    return needing


def read_asked(
    settings: Settings,
    urls: Sequence[str | None],
    rules: Mapping[str, Any] | None,
    spider: str | None,
    options: Mapping[str, Any],
    by: Asker,
    urls_follow: bool = False,
) -> tuple[Sources, Callable[[], JobSpec]]:
    """What `submit` takes, of what another program asks for in plain JSON: options by the names of the flags, with _
    for -.

    Rules are data; a spider is named by its import path, and only of a module that SHOAL_SPIDERS lists. No URL is
    taken for the name of a file. With `urls_follow` a job that has no URL waits for those that are appended. Raises
    UsageError.
    """
    loaded = _spider(rules, spider, settings.spiders)
    wish = Wish.of(_checked(options), loaded, settings.allow_private and by is not Asker.SUBMITTER, by)
    given = [*(loaded.urls if loaded else ()), *urls]
    waits = urls_follow and not given
    if loaded is not None and not given and not waits:
        raise UsageError(f"the spider {loaded.name} names no URL to start from: give one")
    sources = no_urls(wish.params, wish.group) if waits else given_urls(given, wish.params, wish.group)
    spec = wish.spec(sources, None)
    if by is Asker.SUBMITTER:
        goes_on = spec.limits.allow_more_than(Wish.of({}, loaded, allow_private=False).limits)
        leads_elsewhere = bool(urls or options.keys() & _LEADING or goes_on)
        _check_privileges(spec, settings.max_rate, leads_elsewhere)

    def spec_once_read() -> JobSpec:
        if not sources.good and not waits:
            raise UsageError("none of the urls can be fetched")
        return replace(spec, credentials=sources.credentials, agent=settings.user_agent)

    return sources, spec_once_read


def privileges(spec: JobSpec, max_rate: float) -> list[str]:
    """What the job has that over the API only an admin may give it, by its names there."""
    had = {
        "allow_private": spec.allow_private,
        "politeness.robots": not spec.politeness.robots,
        "proxies": spec.proxies,
        "headers": spec.headers,
        "cookies": spec.cookies,
        "credentials": spec.credentials,
    }
    # The usual rate is nobody's gift, however low the operator's limit is.
    most, rate = max(max_rate, Politeness().rate), spec.politeness.rate
    hasty = [f"politeness.rate above {most:g}"] if rate == 0 or rate > most else []
    return [name for name, value in had.items() if value] + hasty


def _check_privileges(spec: JobSpec, max_rate: float, leads_elsewhere: bool) -> None:
    """A spider's own are the operator's choice, but for where the spider leads: with them no submitter leads it
    elsewhere or further, nor anywhere private."""
    had = privileges(spec, max_rate)
    if had and (leads_elsewhere or spec.allow_private):
        raise NeedsAdmin(f"this needs the scope admin, because of what the spider has: {', '.join(had)}")


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
    from shoal.spiders.loading import load_spider

    return load_spider(spider)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    # Only here: `shoal submit` has its options checked already.
    from shoal.spiders.rules.asking import check_options

    check_options(options)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
