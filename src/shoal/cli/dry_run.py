"""`shoal crawl --dry-run`: shows the URLs per host, what robots.txt disallows, and how long the crawl would take."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shoal.cli.command_proxies import command_pool
from shoal.cli.humanize import count, duration, plural
from shoal.cli.job_request import bad_words
from shoal.cli.session import Session
from shoal.cli.terminal_text import safe, table
from shoal.errors import UsageError
from shoal.jobs.dry_run import DryRun, HostLoad
from shoal.model import JobSpec, ScopeKind
from shoal.spiders.input_sources import Sources
from shoal.spiders.spider_reference import SPIDER_MODULE, names_spider
from shoal.urls.exclusions import read_exclusions

SHOWN = 20


def refuse_unknown_spider(session: Session, source: Sequence[str]) -> None:
    """Raises UsageError for a spider that only the fleet behind an API can load: its start URLs are not known here."""
    named = [word for word in source if SPIDER_MODULE.fullmatch(word) and names_spider(word)]
    if session.settings.api_url and named:
        raise UsageError(f"--dry-run cannot load {named[0]} here, only the fleet can: give URLs instead")


def show_dry_run(session: Session, spec: JobSpec, sources: Sources) -> None:
    """Creates neither job nor home. Fetches robots.txt from this machine, with this machine's settings."""
    dry_run = DryRun(sources.inputs, read_exclusions(session.settings.exclusions))
    if not dry_run.hosts:
        for line in _bad_lines(sources):
            session.say(line)
        raise UsageError("none of the sources is a URL that can be fetched")
    if spec.politeness.robots:
        if not session.quiet and not session.json:
            session.say(f"fetching {plural(dry_run.origins, 'robots.txt file')}, and nothing else")
        complete = replace(spec, credentials=sources.credentials, agent=session.settings.user_agent)
        session.run(dry_run.fetch_robots_files(complete, command_pool(session, spec)))
    if session.json:
        _show_as_json(session, spec, sources, dry_run)
    else:
        _show_as_text(session, spec, sources, dry_run)


def _show_as_json(session: Session, spec: JobSpec, sources: Sources, dry_run: DryRun) -> None:
    gap_s, limits = spec.politeness.gap_s, spec.limits
    hosts = [
        {
            "host": host.name,
            "urls": host.urls,
            "refused": host.refused,
            "unreachable": host.unreachable,
            "excluded": host.excluded,
            "failure": host.failure,
            "crawl_delay_s": host.crawl_delay_s,
            "seconds": round(host.seconds(gap_s, limits), 3),
        }
        for host in _by_urls(dry_run)
    ]
    busiest = dry_run.busiest(gap_s, limits)
    session.data(
        {
            "type": "dry_run",
            "name": spec.name,
            "scope": spec.scope.value,
            "follows_links": _follows_links(spec),
            "urls": sources.good,
            "duplicates": sources.duplicates,
            "bad": sources.bad_count,
            "bad_lines": [{"line": line, "url": spelt, "reason": reason} for line, spelt, reason in sources.bad],
            "refused": sum(host.refused for host in dry_run.hosts.values()),
            "unreachable": sum(host.unreachable for host in dry_run.hosts.values()),
            "busiest": busiest.name,
            "seconds": round(_seconds(busiest, spec), 3),
            "hosts": hosts,
        }
    )


def _show_as_text(session: Session, spec: JobSpec, sources: Sources, dry_run: DryRun) -> None:
    hosts = _by_urls(dry_run)
    rows = [_cells(host) for host in hosts[:SHOWN]]
    width = shutil.get_terminal_size().columns
    for line in table(rows, ("urls", "refused", "delay", "host"), width, right=frozenset({0, 1, 2})):
        session.show(line)
    if len(hosts) > SHOWN:
        session.show(f"and {plural(len(hosts) - SHOWN, 'more host')}: --json lists all")
    for line in [*_refusals(hosts), *_bad_lines(sources), *_conclusion(spec, sources, dry_run)]:
        session.show(line)


def _cells(host: HostLoad) -> tuple[str, ...]:
    delay = duration(host.crawl_delay_s) if host.crawl_delay_s else "–"
    return count(host.urls), count(host.refused), delay, safe(host.name)


def _refusals(hosts: list[HostLoad]) -> Iterator[str]:
    for host in [host for host in hosts if host.excluded][:SHOWN]:
        yield f"the operator excludes {plural(host.excluded, 'URL')} of {safe(host.name)}"
    refusing = [host for host in hosts if host.refused]
    for host in refusing[:SHOWN]:
        yield f"robots.txt of {safe(host.name)} disallows {count(host.refused)}, e.g. {safe(host.refused_sample or '')}"
    unreachable = [host for host in hosts if host.unreachable]
    for host in unreachable[:SHOWN]:
        yield f"{safe(host.name)} is unreachable, {plural(host.unreachable, 'URL')}: {safe(host.failure or '')}"
    hidden = len(refusing[SHOWN:]) + len(unreachable[SHOWN:])
    if hidden:
        yield f"and {plural(hidden, 'more host')} like these: --json lists all"


def _bad_lines(sources: Sources) -> Iterator[str]:
    for bad in sources.bad[:SHOWN]:
        yield bad_words(sources, bad)
    if sources.bad_count > SHOWN:
        yield f"and {plural(sources.bad_count - SHOWN, 'more bad line')}"


def _conclusion(spec: JobSpec, sources: Sources, dry_run: DryRun) -> Iterator[str]:
    duplicates = f", {plural(sources.duplicates, 'duplicate')} skipped" if sources.duplicates else ""
    bad = f", {plural(sources.bad_count, 'bad line')}" if sources.bad_count else ""
    yield f"{plural(sources.good, 'URL')} of {plural(len(dry_run.hosts), 'host')}{duplicates}{bad}"
    busiest = dry_run.busiest(spec.politeness.gap_s, spec.limits)
    seconds = _seconds(busiest, spec)
    if not any(host.fetchable for host in dry_run.hosts.values()):
        yield "none of them would be fetched"
    elif seconds:
        yield f"at least {duration(seconds)} at this rate: {safe(busiest.name)} takes longest"
    else:
        yield "without a rate limit, the crawl takes as long as the hosts need to answer"
    if _follows_links(spec):
        yield f"links are followed (scope {spec.scope}): pages found that way, and their duration, are not included"


def _by_urls(dry_run: DryRun) -> list[HostLoad]:
    return sorted(dry_run.hosts.values(), key=lambda host: -host.urls)


def _seconds(busiest: HostLoad, spec: JobSpec) -> float:
    seconds = busiest.seconds(spec.politeness.gap_s, spec.limits)
    return seconds if spec.limits.seconds is None else min(seconds, spec.limits.seconds)


def _follows_links(spec: JobSpec) -> bool:
    return spec.sitemaps or (spec.scope is not ScopeKind.LISTED and spec.limits.depth != 0)
