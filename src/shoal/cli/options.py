"""The options of a crawl."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from shoal.cli.numbers import Share, Whole
from shoal.model import Lane, ScopeKind
from shoal.model.bounds import BOUNDS, RATE

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE)


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _SIZE.fullmatch(str(value))
        size = int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " ")) if found else -1
        if not BOUNDS["max_bytes"].holds(size):
            self.fail(f"{value!r} is no size: give bytes, or 10k, 5M, 2G, up to 1000T", param, ctx)
        return size


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _DURATION.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is no duration: give seconds, or 90s, 10m, 2h, 1d", param, ctx)
        if not float(found[1]):
            self.fail("no time at all is left to crawl", param, ctx)
        seconds = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2].lower()]
        if not BOUNDS["max_seconds"].holds(seconds):
            self.fail(f"{value!r} is too long: give at most {BOUNDS['max_seconds'].most:,} seconds", param, ctx)
        return seconds


class Rate(click.ParamType[float]):
    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not RATE.holds(rate):
            words = f"give requests per second, from {RATE.least:g} to {RATE.most:,}, or 0 for no limit"
            self.fail(f"{value!r} is no rate: {words}", param, ctx)
        return rate


def _whole(option: str) -> Whole:
    bound = BOUNDS[option]
    return Whole(int(bound.least), int(bound.most))


_OPTIONS = (
    click.option("--max-pages", type=_whole("max_pages"), metavar="N", help="Store at most N pages."),
    click.option("--max-depth", type=_whole("max_depth"), metavar="N", help="Follow links at most N deep."),
    click.option("--max-bytes", type=Size(), metavar="SIZE", help="Stop after this much, e.g. 500M."),
    click.option(
        "--max-seconds",
        type=Duration(),
        metavar="TIME",
        help="Stop after this long, e.g. 90 or 10m; what is in flight has 10 s more.",
    ),
    click.option(
        "--max-pages-per-host", type=_whole("max_pages_per_host"), metavar="N", help="Store at most N pages of a host."
    ),
    click.option(
        "--scope",
        type=click.Choice([kind.value for kind in ScopeKind]),
        help="Which links are followed. Default: host; with a list: listed.",
    ),
    click.option("--include", multiple=True, metavar="PATTERN", help="Only URLs that match (text, * or re:)."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="No URLs that match. Wins over --include."),
    click.option("--sitemaps", is_flag=True, help="Also what the hosts' sitemaps list. A sitemap counts as a page."),
    click.option(
        "--rate",
        type=Rate(),
        default=2.0,
        show_default=True,
        metavar="R",
        help="Requests per second per host; 0: no limit.",
    ),
    click.option(
        "--per-host", type=_whole("per_host"), default=2, show_default=True, metavar="N", help="In flight per host."
    ),
    click.option(
        "--group",
        type=click.Choice(["host", "domain"]),
        default="host",
        show_default=True,
        help="What shares a rate.",
    ),
    click.option("--retries", type=_whole("retries"), default=4, show_default=True, metavar="N", help="Per request."),
    click.option(
        "--lane",
        type=click.Choice([lane.value for lane in Lane]),
        default="batch",
        show_default=True,
        help="Class of service.",
    ),
    click.option("--priority", type=_whole("priority"), default=0, metavar="N", help="Higher goes first."),
    click.option("--proxy", multiple=True, metavar="URL", help="Fetch through this proxy."),
    click.option("--header", multiple=True, metavar="K:V", help="Send this header."),
    click.option("--cookie", multiple=True, metavar="K=V", help="Send this cookie where the crawl begins."),
    click.option("--ignore-robots", is_flag=True, help="Do not ask for or obey robots.txt. Yours to answer for."),
    click.option("--allow-private", is_flag=True, help="Let it reach private and loopback addresses."),
    click.option("--keep-params", multiple=True, metavar="NAME", help="Query parameters that matter."),
    click.option("--drop-params", multiple=True, metavar="NAME", help="Query parameters that do not."),
    click.option(
        "--allow-trap",
        multiple=True,
        metavar="RULE,…",
        help="Follow links that look endless by this rule, or by all: the report names it.",
    ),
    click.option(
        "--formats",
        multiple=True,
        metavar="NAME,…",
        help="Keep these of each page too: metadata, main, markdown, tables.",
    ),
    click.option("--name", metavar="NAME", help="What to call the job."),
    click.option("--refresh", is_flag=True, help="Ask only for what changed since the last job of the same name."),
    click.option("--no-text", is_flag=True, help="Keep records of pages only, not their text and links."),
    click.option("--no-archive", is_flag=True, help="Do not keep the raw answers."),
    click.option("--max-archive-bytes", type=Size(), metavar="SIZE", help="Keep at most this much of them, packed."),
    click.option(
        "--max-failure-rate",
        type=Share(),
        metavar="SHARE",
        help="Exit 3 if more than this share is dead, e.g. 0.05.",
    ),
    click.option(
        "--max-null-share",
        type=Share(),
        metavar="SHARE",
        help="Exit 3 if a field of the items is empty more often, e.g. 0.2.",
    ),
    click.option(
        "--max-change",
        type=Share(),
        metavar="SHARE",
        help="Exit 3 if items fell or empty fields rose by more than this since the last run of the same name.",
    ),
    click.option("--error-on-limit", is_flag=True, help="Exit 6 if a limit ended it."),
)


def job_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
