"""The options of a crawl, and the job they describe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from shoal.errors import UsageError
from shoal.model import JobSpec, Lane, Limits, Politeness, ScopeKind

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE)


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _SIZE.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is no size: give bytes, or 10k, 5M, 2G", param, ctx)
        return int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " "))


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _DURATION.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is no duration: give seconds, or 90s, 10m, 2h, 1d", param, ctx)
        return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2].lower()]


_AT_LEAST_1 = click.IntRange(min=1)
_OPTIONS = (
    click.option("--max-pages", type=_AT_LEAST_1, metavar="N", help="Store at most N pages."),
    click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Follow links at most N deep."),
    click.option("--max-bytes", type=Size(), metavar="SIZE", help="Stop after this much, e.g. 500M."),
    click.option("--max-seconds", type=Duration(), metavar="TIME", help="Stop after this long, e.g. 90 or 10m."),
    click.option("--max-pages-per-host", type=_AT_LEAST_1, metavar="N", help="Store at most N pages of a host."),
    click.option(
        "--scope",
        type=click.Choice([kind.value for kind in ScopeKind]),
        help="Which links are followed. Default: host; with a list: listed.",
    ),
    click.option("--include", multiple=True, metavar="PATTERN", help="Only URLs that match (text, * or re:)."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="No URLs that match. Wins over --include."),
    click.option("--sitemaps", is_flag=True, help="Also what the hosts' sitemaps list."),
    click.option(
        "--rate",
        type=click.FloatRange(min=0),
        default=2.0,
        show_default=True,
        metavar="R",
        help="Requests per second per host; 0: no limit.",
    ),
    click.option("--per-host", type=_AT_LEAST_1, default=2, show_default=True, metavar="N", help="In flight per host."),
    click.option(
        "--group",
        type=click.Choice(["host", "domain"]),
        default="host",
        show_default=True,
        help="What shares a rate.",
    ),
    click.option(
        "--retries", type=click.IntRange(min=0), default=4, show_default=True, metavar="N", help="Per request."
    ),
    click.option(
        "--lane",
        type=click.Choice([lane.value for lane in Lane]),
        default="batch",
        show_default=True,
        help="Class of service.",
    ),
    click.option("--priority", type=int, default=0, metavar="N", help="Higher goes first."),
    click.option("--proxy", multiple=True, metavar="URL", help="Fetch through this proxy."),
    click.option("--header", multiple=True, metavar="K:V", help="Send this header."),
    click.option("--cookie", multiple=True, metavar="K=V", help="Send this cookie where the crawl begins."),
    click.option("--ignore-robots", is_flag=True, help="Do not ask for or obey robots.txt. Yours to answer for."),
    click.option("--allow-private", is_flag=True, help="Let it reach private and loopback addresses."),
    click.option("--keep-params", multiple=True, metavar="NAME", help="Query parameters that matter."),
    click.option("--drop-params", multiple=True, metavar="NAME", help="Query parameters that do not."),
    click.option("--name", metavar="NAME", help="What to call the job."),
    click.option(
        "--max-failure-rate",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Exit 3 if more than this share is dead, e.g. 0.05.",
    ),
    click.option("--error-on-limit", is_flag=True, help="Exit 6 if a limit ended it."),
)


def job_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Wish:
    """The options as given, before the sources are known."""

    values: dict[str, Any]
    allow_private: bool

    @property
    def group(self) -> str:
        return str(self.values["group"])

    def spec(self, name: str, scope: ScopeKind, output: str | None) -> JobSpec:
        given = self.values
        return JobSpec(
            name=given["name"] or name,
            scope=scope,
            include=given["include"],
            exclude=given["exclude"],
            sitemaps=given["sitemaps"],
            limits=Limits(
                pages=given["max_pages"],
                depth=given["max_depth"],
                bytes=given["max_bytes"],
                seconds=given["max_seconds"],
                pages_per_host=given["max_pages_per_host"],
            ),
            politeness=Politeness(
                rate=given["rate"],
                per_host=given["per_host"],
                group=given["group"],
                robots=not given["ignore_robots"],
            ),
            lane=Lane(given["lane"]),
            priority=given["priority"],
            retries=given["retries"],
            headers=dict(_pair(text, ":", "--header") for text in given["header"]),
            cookies=tuple("=".join(_pair(text, "=", "--cookie")) for text in given["cookie"]),
            proxies=tuple(_proxy(url) for url in given["proxy"]),
            allow_private=given["allow_private"] or self.allow_private,
            keep_params=_names(given["keep_params"]),
            drop_params=_names(given["drop_params"]),
            max_failure_rate=given["max_failure_rate"],
            error_on_limit=given["error_on_limit"],
            output=output,
        )


def _pair(text: str, separator: str, flag: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip() or "\n" in text or "\r" in text:
        raise UsageError(f"{flag} {text!r}: give it as NAME{separator}VALUE, on one line")
    return name.strip(), value.strip()


def _proxy(url: str) -> str:
    if not re.match(r"(https?|socks5h?|socks4a?)://[^/\s]+", url):
        raise UsageError(f"--proxy {url!r}: give it as http://HOST:PORT (or https, socks5, socks5h)")
    return url


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())
