"""What `crawl` and `submit` share: sources and options become the spec of a job, or what is wrong with them is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from shoal.cli.options import job_options
from shoal.cli.session import Session
from shoal.cli.terminal import safe, shortened
from shoal.cli.words import plural
from shoal.errors import UsageError
from shoal.model import JobSpec, ScopeKind
from shoal.spiders.lists import reason_words
from shoal.spiders.naming import spider_among
from shoal.spiders.sources import BadLine, Sources, read_sources
from shoal.spiders.wish import Wish

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

F = TypeVar("F", bound=Callable[..., Any])

BAD_LINES_SHOWN = 20
SPELT_SHOWN = 200

_OPTIONS = (
    click.argument("source", nargs=-1, required=True),
    click.option("--column", metavar="NAME", help="The list is CSV: take URLs from this column (name or number)."),
    click.option("--strict", is_flag=True, help="Exit 2 if a line of the list is bad."),
    click.option("--dry-run", is_flag=True, help="URLs per host, robots, duration; fetches nothing but robots.txt."),
)


def asked_options(function: F) -> F:
    """SOURCE and every option that says what to crawl."""
    function = job_options(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class Asked(NamedTuple):
    session: Session
    spec: JobSpec
    """As far as it is known before the sources are read."""
    spider: Spider | None
    sources: Sources
    strict: bool

    def spec_once_read(self) -> JobSpec:
        """Raises UsageError if the sources turned out to be no good."""
        report_bad_lines(self.session, self.sources, self.strict)
        return replace(self.spec, credentials=self.sources.credentials, agent=self.session.settings.user_agent)

    @property
    def listed(self) -> int | None:
        return listed(self.sources, self.spec.scope)


def listed(sources: Sources, scope: str | None) -> int | None:
    """How many URLs are fetched of a list, if no link of theirs is followed. Told when the sources have been read."""
    return sources.good if sources.listed and scope == ScopeKind.LISTED else None


def asked(
    session: Session,
    source: tuple[str, ...],
    column: str | None,
    strict: bool,
    output: str | None,
    options: dict[str, Any],
) -> Asked:
    """Raises UsageError for all that can be wrong before the sources are read."""
    spider, words = spider_among(source)
    if spider is not None:
        words = [*spider.urls, *words]
    if not words:
        raise UsageError(f"the spider {spider.name if spider else ''} names no URL to start from: give one")
    wish = Wish.of(given_options(options), spider, session.settings.allow_private)
    sources = read_sources(words, wish.params, wish.group, column, sys.stdin.buffer)
    return Asked(session, wish.spec(sources, output), spider, sources, strict)


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were typed, not those that have a default."""
    context = click.get_current_context()
    return {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }


def listed_words(urls: int) -> str:
    fetched = "1 URL is fetched, its" if urls == 1 else f"{urls:,} URLs are fetched, their"
    return f"scope listed: {fetched} links are not followed (--scope changes it)"


def bad_words(sources: Sources, bad: BadLine) -> str:
    """Words of a command have no lines, unless a list is among them."""
    spelt, why = repr(shortened(safe(bad.spelt), SPELT_SHOWN)), reason_words(bad.reason)
    return f"line {bad.line}: {spelt}: {why}" if sources.listed else f"{spelt} {why}"


def report_bad_lines(session: Session, sources: Sources, strict: bool) -> None:
    for bad in sources.bad[:BAD_LINES_SHOWN]:
        session.say(bad_words(sources, bad))
    if sources.bad_count > BAD_LINES_SHOWN:
        # With passwords among them only the good ones are sent to an API.
        kept = not (session.settings.api_url and sources.credentials)
        where = f"; `{session.command('export', 'ID', '--inputs')}` has them all" if kept else ""
        session.say(f"and {plural(sources.bad_count - BAD_LINES_SHOWN, 'more bad line')}{where}")
    if strict and sources.bad_count:
        raise UsageError(f"{plural(sources.bad_count, 'bad line')}, and --strict was given")
    if not sources.good:
        raise UsageError("none of the sources is a URL that can be fetched")
