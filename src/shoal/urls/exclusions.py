"""What the operator forbids all jobs to request: hosts, URL prefixes and patterns, one per line of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from shoal.errors import InvalidURL, UsageError
from shoal.urls.canonical import Params, canonical
from shoal.urls.fingerprint import host_of, split_port
from shoal.urls.url_patterns import compiled

Test = Callable[[str], bool]


class Exclusions:
    def __init__(self, lines: Iterable[str] = ()) -> None:
        """Raises UsageError, with the line number, for an invalid line. Ignores blank lines and `#` comments."""
        self._hosts: dict[str, str] = {}
        self._tests: list[tuple[str, Test]] = []
        for number, text in enumerate(lines, 1):
            line = text.partition(" #")[0].strip()
            if line and not line.startswith("#"):
                self._add(number, line)

    def __bool__(self) -> bool:
        return bool(self._hosts or self._tests)

    def with_lines(self, lines: Iterable[str]) -> Exclusions:
        """A copy with more lines. Raises UsageError, with the line number, for an invalid line."""
        more = Exclusions(lines)
        more._hosts = {**more._hosts, **self._hosts}
        more._tests = [*self._tests, *more._tests]
        return more

    def line_for(self, url: str) -> str | None:
        """The line that excludes this canonical URL; None: it may be requested."""
        if self._hosts and (line := self._host_line(url)):
            return line
        for line, matches in self._tests:
            if matches(url):
                return line
        return None

    def _add(self, number: int, line: str) -> None:
        if "://" in line and not line.startswith("re:") and "*" not in line:
            self._tests.append((line, _beginning(number, line)))
        elif line.startswith("re:") or "*" in line:
            self._tests.append((line, compiled(line, "exclusions")))
        elif "/" in line:
            raise UsageError(
                f"exclusions, line {number}: {line!r} is neither a host nor a URL: add the scheme, https://…, "
                "or write a pattern with *"
            )
        else:
            self._hosts[_host(number, line)] = line

    def _host_line(self, url: str) -> str | None:
        """The line of the host itself or of a domain that contains it, with or without its port."""
        authority = host_of(url, "host")
        name, _ = split_port(authority)
        for wanted in (authority, name):
            if line := self._hosts.get(wanted):
                return line
        while "." in name:
            name = name.partition(".")[2]
            if line := self._hosts.get(name):
                return line
        return None


def read_exclusions(path: Path | None) -> Exclusions:
    """Raises UsageError if the file cannot be read: without it, forbidden URLs would be requested."""
    if path is None:
        return Exclusions()
    try:
        return Exclusions(path.read_text(encoding="utf-8-sig").splitlines())
    except OSError as error:
        raise UsageError(f"cannot read the exclusions in {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read the exclusions in {path}: the file is not UTF-8") from None


def _beginning(number: int, line: str) -> Test:
    try:
        prefix = canonical(line, Params())
    except InvalidURL as error:
        raise UsageError(f"exclusions, line {number}: {error}") from None
    return lambda url: url.startswith(prefix)


def _host(number: int, line: str) -> str:
    try:
        return host_of(canonical(f"http://{line.removeprefix('.')}/", Params()), "host")
    except InvalidURL:
        raise UsageError(f"exclusions, line {number}: {line!r} is not a host") from None
