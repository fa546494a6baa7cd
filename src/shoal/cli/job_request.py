"""What `crawl` and `submit` share: sources and options become the spec of a job, or a UsageError."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from shoal.cli.garbage_collection import nothing_collected
from shoal.cli.humanize import plural
from shoal.cli.job_flags import job_options
from shoal.cli.project_options import with_project_options
from shoal.cli.session import Session
from shoal.cli.terminal_text import shortened
from shoal.errors import UsageError
from shoal.model import JobSpec, ScopeKind
from shoal.spiders.build_job_spec import JobDraft, check_proxy_options
from shoal.spiders.input_sources import BadLine, Sources, expand_words, read_sources
from shoal.spiders.spider_reference import find_spider
from shoal.spiders.url_lists import reason_words

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

F = TypeVar("F", bound=Callable[..., Any])

BAD_LINES_SHOWN = 20
SPELT_SHOWN = 200

_OPTIONS = (
    click.option("--column", metavar="NAME", help="The list is CSV: take URLs from this column (name or number)."),
    click.option("--strict", is_flag=True, help="Exit 2 if a line of the list is bad."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Show the URLs per host, what robots.txt forbids, and the expected duration. Fetch only robots.txt.",
    ),
)


def request_options(function: F) -> F:
    """SOURCE and every option of a job."""
    return click.argument("source", nargs=-1, required=True)(request_options_beside_source(function))


def request_options_beside_source(function: F) -> F:
    function = job_options(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class JobRequest(NamedTuple):
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


def read_request(
    session: Session,
    source: tuple[str, ...],
    column: str | None,
    strict: bool,
    output: str | None,
    options: dict[str, Any],
) -> JobRequest:
    """Raises UsageError for every fault that can be found before the sources are read."""
    with nothing_collected():
        spider, given_words = find_spider(source)
    words = expand_words(given_words)
    given = with_project_options(session, source, given_options(options), spider)
    draft = JobDraft.of(given, spider, session.settings.allow_private)
    check_proxy_options(draft.options)
    if draft.spider is not None:
        # After the given ones: the lines of a list keep their numbers, and its rows their columns.
        words = [*words, *draft.spider.urls]
    if not words:
        raise UsageError(f"the spider {spider.name if spider else ''} names no URL to start from: give one")
    sources = read_sources(words, draft.params, draft.group, column, sys.stdin.buffer)
    return JobRequest(session, draft.spec(sources, output), spider, sources, strict)


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were typed; the others have their defaults, and so does one whose text is empty."""
    context = click.get_current_context()
    typed = {
        name: tuple(filter(None, value)) if isinstance(value, tuple) else value
        for name, value in options.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    return {name: value for name, value in typed.items() if value not in ("", ())}


def listed_words(urls: int) -> str:
    fetched = "1 URL is fetched, its" if urls == 1 else f"{urls:,} URLs are fetched, their"
    return f"scope listed: {fetched} links are not followed (--scope changes it)"


def bad_words(sources: Sources, bad: BadLine) -> str:
    """Words of a command have no lines, unless a list is among them."""
    spelt, why = repr(shortened(bad.spelt, SPELT_SHOWN)), reason_words(bad.reason)
    return f"line {bad.line}: {spelt}: {why}" if sources.listed else f"{spelt} {why}"


def report_bad_lines(session: Session, sources: Sources, strict: bool, becomes_job: bool = True) -> None:
    for bad in sources.bad[:BAD_LINES_SHOWN]:
        session.say(bad_words(sources, bad))
    if sources.bad_count > BAD_LINES_SHOWN:
        # With passwords among them only the good ones are sent to an API. Without a job nothing is kept.
        kept = becomes_job and sources.good and not strict and not (session.settings.api_url and sources.credentials)
        where = f"; `{session.command('export', 'ID', '--inputs')}` has them all" if kept else ""
        session.say(f"and {plural(sources.bad_count - BAD_LINES_SHOWN, 'more bad line')}{where}")
    if strict and sources.bad_count:
        raise UsageError(f"{plural(sources.bad_count, 'bad line')}, and --strict was given")
    if not sources.good:
        raise UsageError("none of the sources is a URL that can be fetched")
    if sources.useless_list is not None:
        raise UsageError(f"no line of the list {sources.useless_list!r} is a URL that can be fetched")
