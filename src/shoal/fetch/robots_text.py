"""Parses a robots.txt for one crawler: the groups that name it, or else those for all, and the sitemaps.

A group applies to a crawler if it names its full product token, in any case (RFC 9309, 2.2.1): `sho` is not `shoal`.
The parser accepts common mistakes: misspelt fields, a blank instead of the colon, names with a version or an asterisk.
It takes linear time, whatever the text holds, and does not keep groups for others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FOR_EVER_S = 1e9
"""Replaces any longer crawl-delay, so that it stays a number that can be calculated with and stored."""
_AGENT, _ALLOW, _DISALLOW, _DELAY, _SITEMAP = range(5)
_FIELDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), _AGENT),
    "allow": _ALLOW,
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), _DISALLOW),
    **dict.fromkeys(("crawl-delay", "crawl delay"), _DELAY),
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), _SITEMAP),
}
_PRODUCT = re.compile(r"[\w-]+")


@dataclass(slots=True, eq=False)
class RobotsGroup:
    rules: list[tuple[bool, str]] = field(default_factory=list)
    """Whether it allows, and the pattern as written."""
    crawl_delay_s: float = 0.0


def read(text: str, token: str) -> tuple[RobotsGroup, list[str]]:
    """The group for this product token, and the sitemaps, which are for all."""
    own, for_all = RobotsGroup(), RobotsGroup()
    is_named = False
    sitemaps: list[str] = []
    current: list[RobotsGroup] = []
    names_agents = True
    for line in filter(None, text.splitlines()):
        what, value = _directive(line)
        if what == _SITEMAP:
            if value:
                sitemaps.append(value)
            continue
        if what is None:
            continue
        if what == _AGENT and not names_agents:
            current = []
        names_agents = what == _AGENT
        if names_agents:
            named = for_all if value == "*" else own if _product(value) == token.lower() else None
            is_named |= named is own
            if named is not None and named not in current:
                current.append(named)
        elif value:
            for group in current:
                _add(group, what, value)
    return (own if is_named else for_all), sitemaps


def _directive(line: str) -> tuple[int | None, str]:
    """Field and value. A line without a known field has no meaning, and does not end a list of names."""
    # Some editors leave a NUL after every line.
    line = line.partition("#")[0].strip().rstrip("\0 \t")
    name, colon, value = line.partition(":")
    what = _FIELDS.get(name.strip().lower()) if colon else None
    if what is not None:
        return what, value.strip()
    if colon and (not value or value[0].isspace()):
        return None, value
    words = line.split(None, 2)
    for count in (1, 2):
        if (what := _FIELDS.get(" ".join(words[:count]).lower())) is not None:
            return what, " ".join(words[count:])
    return None, value


def _product(value: str) -> str:
    """The product token in a User-agent line. What follows it, such as a version, does not count."""
    found = _PRODUCT.match(value)
    return found[0].lower() if found else ""


def _add(group: RobotsGroup, what: int, value: str) -> None:
    if what in (_ALLOW, _DISALLOW):
        group.rules.append((what == _ALLOW, value))
    elif what == _DELAY:
        try:
            delay_s = float(value)
        except ValueError:
            return
        # NaN compares as false.
        if delay_s >= 0:
            group.crawl_delay_s = min(delay_s, FOR_EVER_S)
