"""Trap rules: signs in a URL that a site is endless. Each rule says what in the URL breaks it. A job may allow rules.

A link that breaks a rule is not followed, but counted under the rule's name, so that an operator sees what was skipped.
All rules except `queries` and `subdomains` depend only on the URL and the day the job was created, so every worker
decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from shoal.errors import UsageError
from shoal.urls.traps import url_growth
from shoal.urls.traps.calendar import FIRST_YEAR, YEARS_AHEAD, Calendar
from shoal.urls.traps.query_combinations import MOST_COMBINATIONS, Queries
from shoal.urls.traps.subdomains import MOST_SUBDOMAINS, Subdomains

RULES = {
    "length": f"more than {url_growth.MAX_CHARS:,} characters",
    "depth": f"more than {url_growth.MAX_SEGMENTS} parts in the path",
    "repeated_segment": "parts of the path repeated again and again",
    "query_params": f"more than {url_growth.MAX_PARAMS} query parameters",
    "repeated_param": "a query parameter repeated again and again, or nested in itself",
    "calendar": f"a date more than {YEARS_AHEAD} years ahead, or before {FIRST_YEAR}",
    "queries": f"more than {MOST_COMBINATIONS:,} combinations of query values under a path",
    "subdomains": f"more than {MOST_SUBDOMAINS:,} subdomains of one domain, or a label of the host repeated",
}
"""Rule -> what the URLs that break it have."""
SAMPLES = 3
"""How many URLs that break a rule to keep as examples."""
ALL = "all"
PREFIX = "trap:"
"""Prefix of a rule's name where it is the reason to skip a link."""


class Trap(NamedTuple):
    rule: str
    why: str
    """What in the URL broke the rule, and the limit."""

    @property
    def reason(self) -> str:
        return PREFIX + self.rule


class Traps:
    """The rules of one job, and the memory of `queries` and `subdomains`."""

    def __init__(self, allowed: Iterable[str], made_at: float) -> None:
        """`made_at`: when the job was created, in seconds since the epoch."""
        self.allowed = frozenset(allowed)
        rules = {
            "length": url_growth.length,
            "depth": url_growth.depth,
            "repeated_segment": url_growth.repeated_segment,
            "query_params": url_growth.query_params,
            "repeated_param": url_growth.repeated_param,
            "calendar": Calendar(datetime.fromtimestamp(made_at, UTC)).date_out_of_reach,
            "queries": Queries().recombined,
        }
        self._rules = {rule: broken for rule, broken in rules.items() if rule not in self.allowed}
        self._subdomains = None if "subdomains" in self.allowed else Subdomains()

    def of(self, url: str) -> Trap | None:
        """The first rule that a canonical URL breaks."""
        if self._subdomains and (why := self._subdomains.too_many(url)):
            return Trap("subdomains", why)
        # Most URLs are too short and simple to break any rule. One check here is faster than calling all rules.
        if (
            url.count("/") <= url_growth.PLAIN_SLASHES
            and url.count("&") + url.count(";") < url_growth.SAME_PARAM - 1
            and "/20" not in url
            and "=20" not in url
            and "/19" not in url
            and "=19" not in url
            and "%3D" not in url
            and url.count("=") <= 1 + url.count("&")
            and len(url) <= url_growth.MAX_CHARS
        ):
            return None
        return self._first_broken(url)

    def of_plain(self, urls: Iterable[str]) -> dict[str, Trap]:
        """The URLs that break a rule, among many of one followed host without query or escapes, and not too long."""
        slashes = url_growth.PLAIN_SLASHES
        doubtful = [url for url in urls if "/20" in url or "/19" in url or url.count("/") > slashes]
        return {url: trap for url in doubtful if (trap := self._first_broken(url))}

    def _first_broken(self, url: str) -> Trap | None:
        for rule, broken in self._rules.items():
            if why := broken(url):
                return Trap(rule, why)
        return None


def parse_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Rule names without repeats, in a fixed order. A text may hold several names with commas, or `all`.

    Raises UsageError for an unknown name.
    """
    asked = {name.strip() for text in names for name in text.split(",") if name.strip()}
    if unknown := sorted(asked - {*RULES, ALL}):
        raise UsageError(f"--allow-trap {unknown[0]!r}: there is no such rule; choose from {', '.join(RULES)} or {ALL}")
    return tuple(rule for rule in RULES if rule in asked or ALL in asked)


def allowing(rule: str) -> str:
    """The option that makes a job follow such links."""
    return f"--allow-trap {rule}"
