"""The description of one option of a job. `model/options.py` has one entry for each.

Every number has bounds. A number outside its bounds is refused wherever it enters: on the command line, in a spider, in
rules, over the API. The frontier checks it again, because one job's number must never harm another job: a rate of
1e-320 makes a gap of infinite length, and infinity times zero is not a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from shoal.errors import UsageError
from shoal.model.rendering import step_text, steps_of

MOST = 10**15
"""Larger than any real count, and every server counts to it exactly."""
_PORT = r"0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_END = r"$(?!\n)"
"""To Python, $ alone also matches before a last newline."""


class Bound(NamedTuple):
    least: float
    most: float
    whole: bool = True
    or_zero: bool = False
    """0 is allowed below `least`, and means that there is no limit."""

    @property
    def wants(self) -> str:
        """The allowed values, in words."""
        kind = "a whole number" if self.whole else "a number"
        return f"{'0 or ' if self.or_zero else ''}{kind} from {_shown(self.least)} to {_shown(self.most)}"

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return math.isfinite(value) and (self.least <= value <= self.most or (self.or_zero and value == 0))

    def nearest(self, value: Any) -> Any:
        """The nearest number within the bounds; a job that was stored before they existed may be beyond them."""
        return value if value is None or self.holds(value) else min(max(value, self.least), self.most)


class Kind(StrEnum):
    """What a value stands for. It decides how people type the value and how the API describes it."""

    FLAG = "true or false"
    COUNT = "whole number"
    RATE = "requests per second"
    SIZE = "bytes"
    DURATION = "seconds"
    SHARE = "share"
    MONEY = "amount of money"
    CHOICE = "choice"
    PATTERN = "URL pattern"
    HEADER = "NAME:VALUE"
    COOKIE = "NAME=VALUE"
    ARGUMENT = "argument"
    PROXY = "proxy URL"
    PROXY_POOL = "proxy list"
    REGION = "region"
    PARAM = "query parameter"
    TRAP = "trap rule"
    SHAPE = "shape of URLs"
    FILE_TYPE = "file type"
    FORMAT = "format"
    NAME = "name"
    URL = "URL"
    SECRET = "secret"
    CERTIFICATES = "PEM certificates"
    COOKIES = "cookie file"
    SINK = "sink"
    CSS = "CSS selector"
    STEP = "step"
    VIEWPORT = "viewport"
    LOCALE = "locale"
    TIME_ZONE = "time zone"


class TextForm(NamedTuple):
    wants: str
    pattern: str = r"\S"
    """Searched for, as JSON Schema does."""


TEXTS: Mapping[Kind, TextForm] = {
    Kind.PATTERN: TextForm("text that occurs in a URL, with * for anything, or re: and a regular expression"),
    Kind.HEADER: TextForm("NAME:VALUE, on one line", r"^[^:\r\n]*[^:\s][^:\r\n]*:[^\r\n]*" + _END),
    Kind.COOKIE: TextForm("NAME=VALUE, on one line", r"^[^=\r\n]*[^=\s][^=\r\n]*=[^\r\n]*" + _END),
    Kind.ARGUMENT: TextForm("NAME=VALUE", r"^[^=\s]+="),
    Kind.PROXY: TextForm(
        "http://HOST:PORT (or https, socks5, socks5h)",
        rf"^(https?|socks5h?|socks4a?)://([^/\s]*@)?(\[[0-9A-Fa-f:.]+\]|[^/\s:@\[\]]+)(:{_PORT})?/?" + _END,
    ),
    Kind.PROXY_POOL: TextForm("the name of a pool, or a list with one proxy on a line (the flag takes a file, too)"),
    Kind.REGION: TextForm("the name of a region, such as de", r"^[A-Za-z0-9_-]{1,32}" + _END),
    Kind.PARAM: TextForm("the name of a query parameter"),
    Kind.TRAP: TextForm("the name of a trap rule, or all"),
    Kind.SHAPE: TextForm(
        "a shape as the report writes it, such as ?action=edit or /tag/*, or all", r"^([?/]|\*/|all$)"
    ),
    Kind.FILE_TYPE: TextForm("the name of a file type, or all"),
    Kind.FORMAT: TextForm("the name of a format"),
    Kind.NAME: TextForm("a name"),
    Kind.SINK: TextForm("the URL of a table, folder, list or HTTP endpoint, or package.module:Class"),
    Kind.CSS: TextForm("a CSS selector"),
    Kind.STEP: TextForm("a step: its name, NAME:VALUE, or a mapping as JSON (docs/rendering.md)"),
    Kind.VIEWPORT: TextForm("WIDTHxHEIGHT or mobile", r"^([1-9][0-9]{1,3}x[1-9][0-9]{1,3}|mobile)" + _END),
    Kind.LOCALE: TextForm("a language tag such as de-CH", r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}" + _END),
    Kind.TIME_ZONE: TextForm(
        "the name of a time zone such as Europe/Zurich",
        r"^[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,2}" + _END,
    ),
    Kind.URL: TextForm("a URL"),
    Kind.SECRET: TextForm("a secret"),
    Kind.COOKIES: TextForm("cookies as Netscape's text (the flag takes a file)", r"\t"),
    Kind.CERTIFICATES: TextForm("certificates as PEM text (the flag takes a file)", r"-----BEGIN CERTIFICATE-----"),
}
FILES = frozenset({Kind.CERTIFICATES, Kind.COOKIES})
"""The flag takes a file, and the option is its text: the job may run on another machine."""
_SEPARATORS = {Kind.HEADER: ":", Kind.COOKIE: "="}
_SEVERAL_IN_ONE = frozenset({Kind.PARAM, Kind.TRAP, Kind.FILE_TYPE, Kind.FORMAT})
"""One text may have several names with commas between them, as on a command line."""


class Section(StrEnum):
    """Under which heading help and reference show an option, in this order."""

    WHAT = "What to crawl"
    LIMITS = "Limits and checks"
    POLITENESS = "Politeness"
    DATA = "Data"
    NETWORK = "Network"
    RENDERING = "Rendering"
    JOB = "Job"


class Admin(StrEnum):
    """For which values of an option the API requires a token with the scope admin."""

    ANY = "yes"
    FAST = "for 0, or a value above the setting `max_rate`"
    EXPRESS = "for `express`"
    LARGER = "for a value above the default"


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a job, for flags, spiders, rules and the API."""

    help: str
    kind: Kind = Kind.FLAG
    default: Any = None
    bound: Bound | None = None
    """The bounds of a number. Default: those of its kind."""
    choices: type[StrEnum] | tuple[str, ...] = ()
    field: str = ""
    """Where JobSpec and the API's JSON have it, as in `limits.pages`; by its own name if left out."""
    negated: bool = False
    """The field says the opposite: `no_text` is `text: false`."""
    admin: Admin | None = None
    can_change: bool = False
    """Whether `PATCH /jobs/{id}` may change it while the job runs."""
    selects_links: bool = False
    """Whether it decides which links are followed; how many are followed is decided by limits."""
    secret: bool = False
    """Whether its value is hidden from everybody but the job's owner."""
    section: Section = Section.JOB
    on_command_line: bool = True
    short: str = ""
    """A short spelling of the flag."""
    flag_name: str = ""
    """The flag, if its name is not that of the option."""
    name: str = ""
    """This field and the following are filled in from the table."""
    many: bool = False
    for_spiders: bool = False
    """Whether a spider and rules may set it too."""

    @property
    def flag(self) -> str:
        return self.flag_name or f"--{self.name.replace('_', '-')}"

    @property
    def path(self) -> list[str]:
        return self.field.split(".")

    @property
    def field_default(self) -> Any:
        return not self.default if self.negated else self.default

    @property
    def wants(self) -> str:
        """The allowed values, in words."""
        if self.many:
            return f"a list, each part {TEXTS[self.kind].wants}"
        if self.bound is not None:
            return self.bound.wants
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return str(self.kind) if self.kind is Kind.FLAG else TEXTS[self.kind].wants

    def fault(self, value: Any) -> str | None:
        """What is wrong with a value."""
        if not self.many:
            return None if self._takes(value) else f"{self.name} is {_quoted(value)}; give {self.wants}"
        if isinstance(value, str) or not isinstance(value, Sequence):
            return f"{self.name} is {_quoted(value)}; give {self.wants}"
        if self.kind is Kind.STEP:
            return _step_fault(self.name, value)
        wrong = [part for part in value if not self._takes(part)]
        return f"{self.name} is {_quoted(wrong[0])}; give {TEXTS[self.kind].wants}" if wrong else None

    def _takes(self, value: Any) -> bool:
        if self.kind is Kind.FLAG:
            return isinstance(value, bool)
        if self.bound is not None:
            return self.bound.holds(value)
        if not isinstance(value, str):
            return False
        return value in tuple(self.choices) if self.choices else bool(re.search(TEXTS[self.kind].pattern, value))

    def to_field(self, value: Any) -> Any:
        """The value as JobSpec and the API's JSON have it."""
        if self.negated:
            return not value
        if self.kind in _SEPARATORS:
            return dict(self.pair(text) for text in value)
        if self.kind is Kind.ARGUMENT:
            return _gathered(text.partition("=") for text in value)
        if self.kind in _SEVERAL_IN_ONE:
            return tuple(name.strip() for text in value for name in text.split(",") if name.strip())
        if self.kind is Kind.STEP:
            return tuple(map(step_text, value))
        if isinstance(self.choices, type):
            return self.choices(value)
        return tuple(value) if self.many else value

    def from_field(self, value: Any) -> Any:
        """The reverse."""
        if self.negated:
            return not value
        if separator := _SEPARATORS.get(self.kind):
            return [f"{name}{separator}{' ' * (separator == ':')}{text}" for name, text in value.items()]
        if self.kind is Kind.ARGUMENT:
            each = ((name, given if isinstance(given, list | tuple) else [given]) for name, given in value.items())
            return [f"{name}={text}" for name, texts in each for text in texts]
        return value

    def pair(self, text: str) -> tuple[str, str]:
        """Name and value of a header or cookie."""
        name, _, value = text.partition(_SEPARATORS[self.kind])
        return name.strip(), value.strip()


def _gathered(parts: Iterable[tuple[str, str, str]]) -> dict[str, str | list[str]]:
    """Name -> value; a list if the name occurs more than once."""
    values: dict[str, list[str]] = {}
    for name, _, value in parts:
        values.setdefault(name, []).append(value)
    return {name: given[0] if len(given) == 1 else given for name, given in values.items()}


def _step_fault(name: str, given: Sequence[Any]) -> str | None:
    try:
        steps_of(given)
    except UsageError as error:
        return f"{name}: {error}"
    return None


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _shown(number: float) -> str:
    return "10^15" if number == MOST else f"{number:,}" if isinstance(number, int) else f"{number:g}"
