"""Robots directives of a page, in a header or a meta element, and the target of its meta refresh."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

AGENT = "shoal"

# Directives that look like "agent: directive" but are not.
_VALUED = frozenset({"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"})
_REFRESH = re.compile(r"\s*+(?:\d++[\d.]*+|\.[\d.]*+)(?:\s*+[;,]|\s)\s*+(.++)", re.DOTALL)
_REFRESH_URL = re.compile(r"url\s*+=\s*+", re.IGNORECASE)


class RobotsDirectives(NamedTuple):
    noindex: bool
    nofollow: bool


def robots_of_meta(content: str) -> RobotsDirectives:
    return _robots(content.split(","))


def robots_of_header(value: str, agent: str = AGENT) -> RobotsDirectives:
    """`value` has one X-Robots-Tag header per line. A user agent in a header applies to that header only."""
    if not value:
        return RobotsDirectives(False, False)
    return _robots(directive for line in value.splitlines() for directive in _for_us(line, agent))


def _for_us(line: str, us: str) -> Iterator[str]:
    agent = ""
    for part in line.split(","):
        name, colon, rest = part.partition(":")
        if colon and name.strip().lower() not in _VALUED:
            agent, part = name.strip().lower(), rest
        if agent in ("", "*", us):
            yield part


def _robots(directives: Iterable[str]) -> RobotsDirectives:
    given = {directive.strip().lower() for directive in directives}
    return RobotsDirectives(not given.isdisjoint({"noindex", "none"}), not given.isdisjoint({"nofollow", "none"}))


def refresh_target(content: str) -> str | None:
    """The URL in the content of a meta refresh, read as the HTML standard does; None: the page itself."""
    after_time = _REFRESH.match(content)
    if not after_time:
        return None
    target = after_time[1]
    if label := _REFRESH_URL.match(target):
        target = target[label.end() :]
    if target[:1] in ("'", '"'):
        target = target[1:].split(target[0], 1)[0]
    return target.strip() or None
