"""The options of a job as flags of the command line, made from the table in `model/options.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

from shoal.cli.numbers import Money, Share, Whole
from shoal.errors import UsageError
from shoal.model.option import MOST, TEXTS, Bound, Kind, Option
from shoal.model.options import OPTIONS

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE)


class Size(click.ParamType[int]):
    name = "size"

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _SIZE.fullmatch(str(value))
        size = int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " ")) if found else -1
        if not self._bound.holds(size):
            most = "1000T" if self._bound.most == MOST else _size_words(int(self._bound.most))
            self.fail(f"{value!r} is not a size: give bytes, or 10k, 5M, 2G, up to {most}", param, ctx)
        return size


class Duration(click.ParamType[float]):
    name = "duration"

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _DURATION.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is not a duration: give seconds, or 90s, 10m, 2h, 1d", param, ctx)
        if not float(found[1]):
            self.fail(f"{value!r} leaves no time to crawl: give more", param, ctx)
        seconds = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2].lower()]
        if seconds < self._bound.least:
            self.fail(f"{value!r} is too short: give at least {self._bound.least:g} seconds", param, ctx)
        if not self._bound.holds(seconds):
            self.fail(f"{value!r} is too long: give at most {self._bound.most:,} seconds", param, ctx)
        return seconds


class Rate(click.ParamType[float]):
    name = "rate"

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not self._bound.holds(rate):
            words = f"from {self._bound.least:g} to {self._bound.most:,}, or 0 for no limit"
            self.fail(f"{value!r} is not a rate: give requests per second, {words}", param, ctx)
        return rate


class Checked(click.ParamType[str]):
    """Text of a certain form, such as a header."""

    name = "text"

    def __init__(self, kind: Kind) -> None:
        self._text = TEXTS[kind]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.search(self._text.pattern, value):
            self.fail(f"{value!r} cannot be used: give {self._text.wants}", param, ctx)
        return str(value)


class FileText(click.ParamType[str]):
    """The text of a file, checked by what reads it: the job may run on another machine."""

    name = "file"

    def __init__(self, checked: Callable[[str], str]) -> None:
        self._checked = checked

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return self._checked(Path(value).read_text("utf-8", "replace"))
        except OSError as error:
            self.fail(f"cannot read {value!r}: {error.strerror}", param, ctx)
        except UsageError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


def _certificates(text: str) -> str:
    # Only here: most commands never check a certificate.
    from shoal.fetch.tls_policy import read_certificates

    return read_certificates(text)


def _cookies(text: str) -> str:
    from shoal.fetch.cookie_file import read_cookies

    return read_cookies(text)


class PoolOrFile(FileText):
    """A file if there is one of that name, otherwise the name of a pool."""

    name = "file or name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # Imported here only: few jobs have proxies.
        from shoal.model.proxy_list import POOL_NAME

        if POOL_NAME.fullmatch(value) and not Path(value).is_file():
            return str(value)
        return super().convert(value, param, ctx)


def _proxies(text: str) -> str:
    from shoal.model.proxy_list import read_proxies

    read_proxies(text)
    return text


POOL_OR_FILE = PoolOrFile(_proxies)
_FILES = {
    Kind.PROXY_POOL: POOL_OR_FILE,
    Kind.CERTIFICATES: FileText(_certificates),
    Kind.COOKIES: FileText(_cookies),
}
_NUMBERS: dict[Kind, Callable[[Bound], click.ParamType[Any]]] = {
    Kind.COUNT: lambda bound: Whole(bound.least, bound.most),
    Kind.RATE: Rate,
    Kind.SIZE: Size,
    Kind.DURATION: Duration,
    Kind.SHARE: lambda _: Share(),
    Kind.MONEY: Money,
}
_BROWSER = (Kind.CSS, Kind.STEP, Kind.VIEWPORT, Kind.LOCALE, Kind.TIME_ZONE)
_NETWORK = (Kind.HEADER, Kind.COOKIE, Kind.PROXY, Kind.REGION)
_CHECKED = frozenset({Kind.PATTERN, Kind.ARGUMENT, Kind.SHAPE, Kind.SINK, *_NETWORK, *_BROWSER})
METAVARS = {
    Kind.COUNT: "N",
    Kind.RATE: "R",
    Kind.SIZE: "SIZE",
    Kind.DURATION: "TIME",
    Kind.SHARE: "SHARE",
    Kind.MONEY: "AMOUNT",
    Kind.PATTERN: "PATTERN",
    Kind.HEADER: "K:V",
    Kind.COOKIE: "K=V",
    Kind.ARGUMENT: "K=V",
    Kind.PROXY: "URL",
    Kind.PROXY_POOL: "FILE|NAME",
    Kind.REGION: "NAME",
    Kind.PARAM: "NAME,…",
    Kind.TRAP: "RULE,…",
    Kind.SHAPE: "SHAPE",
    Kind.FILE_TYPE: "TYPE,…",
    Kind.FORMAT: "NAME,…",
    Kind.NAME: "NAME",
    Kind.SINK: "URL",
    Kind.CSS: "CSS",
    Kind.STEP: "STEP",
    Kind.VIEWPORT: "WxH",
    Kind.LOCALE: "LANG",
    Kind.TIME_ZONE: "ZONE",
    Kind.URL: "URL",
    Kind.CERTIFICATES: "FILE",
    Kind.COOKIES: "FILE",
}
_EXAMPLES = {Kind.SIZE: "500M", Kind.DURATION: "90 or 10m", Kind.SHARE: "0.05"}


_CHANGED = {
    "max_pages": "New page limit, counting the pages it has.",
    "max_pages_per_host": "New page limit per host, counting the pages it has.",
    "max_assets": "New limit of assets, counting those it has.",
    "max_bytes": "New limit of received bytes, counting those before.",
    "max_cost": "New limit of what proxies cost, counting what was spent before.",
    "max_seconds": "New time limit, counting the time before.",
    "max_depth": "New depth limit. Links that were too deep before stay skipped.",
    "include": "Fetch only URLs that match. Replaces the patterns of the job.",
    "exclude": "Skip URLs that match. Replaces the patterns of the job.",
}
"""Where the help of a new job would mislead."""
concurrency_option = click.option(
    "--concurrency", type=Whole(), default=64, show_default=True, metavar="N", help="Maximum concurrent requests."
)
"""Of this process, not of the job."""


def job_options(function: F) -> F:
    """Every option of a job that has a flag."""
    return with_options(function, [flag(name) for name, option in OPTIONS.items() if option.on_command_line])


class SecretFile(click.ParamType[str]):
    """A file, so that the secret is neither in the list of processes nor in the shell's history."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            secret = Path(value).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"cannot read {value!r}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}", param, ctx)
        if not secret:
            self.fail(f"{value!r} is empty: write the secret into it", param, ctx)
        return secret


def webhook_options(function: F) -> F:
    """Of jobs of a fleet, whose tend delivers the messages."""
    about = "Sign the calls of the webhook with the secret in FILE."
    secret = click.option("--webhook-secret-file", "webhook_secret", type=SecretFile(), metavar="FILE", help=about)
    return with_options(function, [flag("webhook"), secret])


def change_options(function: F) -> F:
    """Every option that may change while a job runs. What is not given stays as it is, so no default is shown."""
    changing = [name for name, option in OPTIONS.items() if option.can_change]
    return with_options(function, [flag(name, help=_CHANGED.get(name, ""), has_default=False) for name in changing])


def flag(
    name: str, parameter: str | None = None, *, many: bool = True, help: str = "", has_default: bool = True
) -> Callable[[F], F]:
    """One option of a job. `parameter` is what the function calls it; without `many` it can be given once."""
    option = OPTIONS[name] if has_default else replace(OPTIONS[name], default=None)
    about = help or option.help
    if option.kind is Kind.FLAG:
        return click.option(option.flag, parameter or name, is_flag=True, help=about)
    if option.default is None and (example := _EXAMPLES.get(option.kind)):
        about = f"{about} Example: {example}."
    return click.option(
        *filter(None, [option.short, option.flag]),
        parameter or name,
        type=option_type(option),
        multiple=option.many and many,
        default=None if option.many else _shown(option.default),
        show_default=_default_words(option) if not option.many and option.default is not None else False,
        metavar=METAVARS.get(option.kind),
        help=about,
    )


def option_type(option: Option) -> click.ParamType[Any]:
    if option.choices:
        return click.Choice([str(choice) for choice in option.choices])
    if option.bound is not None:
        return _NUMBERS[option.kind](option.bound)
    if option.kind in _FILES:
        return _FILES[option.kind]
    return Checked(option.kind) if option.kind in _CHECKED else click.STRING


def _shown(default: Any) -> Any:
    # click shows the name of an enum's member, not its value.
    return str(default) if isinstance(default, StrEnum) else default


def _default_words(option: Option) -> str | bool:
    """As people type it."""
    match option.kind:
        case Kind.SIZE:
            return _size_words(option.default)
        case Kind.DURATION:
            return f"{option.default:g}s"
    return True


def _size_words(size: int) -> str:
    return f"{size // 10**6}M" if size % 10**6 == 0 else str(size)


def with_options(function: F, options: Sequence[Callable[[F], F]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function
