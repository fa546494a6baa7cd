"""What a robots.txt says to one crawler: the groups that name it, or else those for all, and the sitemaps.

A group is for a crawler if it names its whole product token, in any case (RFC 9309, 2.2.1): `sho` is not `shoal`.
Lenient as sites need it: misspelt fields, a blank in place of the colon, names with a version or an asterisk.
Linear in the text, whatever it holds; groups for others are not kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FOR_EVER_S = 1e9
"""What stands for any longer crawl-delay, so that it stays a number that can be counted with and written."""
_AGENT, _ALLOW, _DISALLOW, _DELAY, _SITEMAP, _HOST, _UNKNOWN = range(7)
_FIELDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), _AGENT),
    "allow": _ALLOW,
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), _DISALLOW),
    **dict.fromkeys(("crawl-delay", "crawl delay"), _DELAY),
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), _SITEMAP),
    "host": _HOST,
}
_PRODUCT = re.compile(r"[\w-]+")


@dataclass(slots=True, eq=False)
class Group:
    rules: list[tuple[bool, str]] = field(default_factory=list)
    """Whether it allows, and the pattern as it is written."""
    crawl_delay_s: float = 0.0


def read(text: str, token: str) -> tuple[Group, list[str]]:
    """The group for whoever is called by this token, and the sitemaps, which are for all."""
    own, for_all = Group(), Group()
    is_named = False
    sitemaps: list[str] = []
    current: list[Group] = []
    names_agents = True
    for line in filter(None, text.splitlines()):
        what, value = _directive(line)
        if what == _SITEMAP:
            if value:
                sitemaps.append(value)
            continue
        if what is None or what == _HOST:
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
    """Field and value; no field: the line says nothing. One that nobody knows still ends a list of names."""
    # Some editors leave a NUL behind every line.
    line = line.partition("#")[0].strip().rstrip("\0 \t")
    name, colon, value = line.partition(":")
    what = _FIELDS.get(name.strip().lower()) if colon else None
    if what is not None:
        return what, value.strip()
    if colon and (not value or value[0].isspace()):
        return _UNKNOWN, value
    words = line.split(None, 2)
    for count in (1, 2):
        if (what := _FIELDS.get(" ".join(words[:count]).lower())) is not None:
            return what, " ".join(words[count:])
    return (_UNKNOWN if colon else None), value


def _product(value: str) -> str:
    """The product token that a line for agents names; what follows it, such as a version, does not count."""
    found = _PRODUCT.match(value)
    return found[0].lower() if found else ""


def _add(group: Group, what: int, value: str) -> None:
    if what in (_ALLOW, _DISALLOW):
        group.rules.append((what == _ALLOW, value))
    elif what == _DELAY:
        try:
            delay_s = float(value)
        except ValueError:
            return
        # What is no number compares as false.
        if delay_s >= 0:
            group.crawl_delay_s = min(delay_s, FOR_EVER_S)
