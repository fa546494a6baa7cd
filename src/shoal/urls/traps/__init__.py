"""Signs of an endless site in a URL: which rule it breaks and by what, unless the job allows that rule.

A link that breaks one is not followed, but counted under the rule's name, so that an operator sees what was left out.
All rules but `queries` and `subdomains` read nothing besides the URL and the day the job was made: every worker gives
the same verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from shoal.errors import UsageError
from shoal.urls.traps import shapes
from shoal.urls.traps.calendar import FIRST_YEAR, YEARS_AHEAD, Calendar
from shoal.urls.traps.queries import MOST_COMBINATIONS, Queries
from shoal.urls.traps.subdomains import MOST_SUBDOMAINS, Subdomains

RULES = {
    "length": f"more than {shapes.MAX_CHARS:,} characters",
    "depth": f"more than {shapes.MAX_SEGMENTS} parts in the path",
    "repeated_segment": "parts of the path over and over again",
    "query_params": f"more than {shapes.MAX_PARAMS} query parameters",
    "repeated_param": "a query parameter over and over again, or within itself",
    "calendar": f"a date more than {YEARS_AHEAD} years ahead, or before {FIRST_YEAR}",
    "queries": f"more than {MOST_COMBINATIONS:,} combinations of query values under a path",
    "subdomains": f"more than {MOST_SUBDOMAINS:,} subdomains of one domain, or a label of the host over and over again",
}
"""What the URLs have that break each."""
SAMPLES = 3
"""Of the URLs that break a rule, kept to be shown."""
ALL = "all"
PREFIX = "trap:"
"""Of a rule's name where it is one reason among others to skip a link."""


class Trap(NamedTuple):
    rule: str
    why: str
    """What in the URL broke it, and the limit."""

    @property
    def reason(self) -> str:
        return PREFIX + self.rule


class Traps:
    """The rules that hold for one job, and what `queries` and `subdomains` have to remember."""

    def __init__(self, allowed: Iterable[str], made_at: float) -> None:
        """`made_at`: when the job was, in seconds since the epoch."""
        self.allowed = frozenset(allowed)
        rules = {
            "length": shapes.length,
            "depth": shapes.depth,
            "repeated_segment": shapes.repeated_segment,
            "query_params": shapes.query_params,
            "repeated_param": shapes.repeated_param,
            "calendar": Calendar(datetime.fromtimestamp(made_at, UTC)).date_out_of_reach,
            "queries": Queries().recombined,
        }
        self._rules = {rule: broken for rule, broken in rules.items() if rule not in self.allowed}
        self._subdomains = None if "subdomains" in self.allowed else Subdomains()

    def of(self, url: str) -> Trap | None:
        """The first rule that a canonical URL breaks."""
        if self._subdomains and (why := self._subdomains.too_many(url)):
            return Trap("subdomains", why)
        # Most URLs are too short and plain to break any: that is seen faster here than by rules called in turn.
        if (
            url.count("/") <= shapes.PLAIN_SLASHES
            and url.count("&") < shapes.SAME_PARAM - 1
            and "/20" not in url
            and "=20" not in url
            and "/19" not in url
            and "=19" not in url
            and "%3D" not in url
            and url.count("=") <= 1 + url.count("&")
            and len(url) <= shapes.MAX_CHARS
        ):
            return None
        return self._first_broken(url)

    def of_plain(self, urls: Iterable[str]) -> dict[str, Trap]:
        """Those that break one, of many at a host that is followed, without a query or escape, and not too long."""
        slashes = shapes.PLAIN_SLASHES
        doubtful = [url for url in urls if "/20" in url or "/19" in url or url.count("/") > slashes]
        return {url: trap for url in doubtful if (trap := self._first_broken(url))}

    def _first_broken(self, url: str) -> Trap | None:
        for rule, broken in self._rules.items():
            if why := broken(url):
                return Trap(rule, why)
        return None


def asked_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in one order; several in one text have commas between them, and `all` are all.

    Raises UsageError for one that does not exist.
    """
    asked = {name.strip() for text in names for name in text.split(",") if name.strip()}
    if unknown := sorted(asked - {*RULES, ALL}):
        raise UsageError(f"--allow-trap {unknown[0]!r}: there is no such rule; choose from {', '.join(RULES)} or {ALL}")
    return tuple(rule for rule in RULES if rule in asked or ALL in asked)


def allowing(rule: str) -> str:
    """What to give a job so that it follows such links."""
    return f"--allow-trap {rule}"
