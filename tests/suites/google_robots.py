"""The checks in the tests of Google's robots.txt parser. They are C++, so only plain calls with literals are read."""

from __future__ import annotations

import re
from pathlib import Path

from shoal.fetch.robots import RobotsFile
from tests.suites.suite import Result

_TEST = re.compile(r"\nTEST\(\w+, (\w+)\)")
_TEXT = r'(?:\s*"(?:[^"\\]|\\.)*")+'
_STATEMENT = re.compile(
    rf"(?P<name>\w+)(?:\[\])?\s*=(?P<text>{_TEXT})\s*;|"
    r"EXPECT_(?P<expected>TRUE|FALSE)\(\s*IsUserAgentAllowed\((?P<arguments>[^;]*?)\)\)\s*;",
    re.DOTALL,
)
_ARGUMENT = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+')
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def run(checkout: Path) -> Result:
    result = Result()
    _, *parts = _TEST.split((checkout / "robots_test.cc").read_text())
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        _check(name, body, result)
    return result


def _check(name: str, body: str, result: Result) -> None:
    texts: dict[str, str] = {}
    for statement in _STATEMENT.finditer(body):
        if statement["name"]:
            texts[statement["name"]] = _literal(statement["text"])
            continue
        arguments = [argument.strip() for argument in _ARGUMENT.findall(statement["arguments"])]
        values = [_literal(value) if value.startswith('"') else texts.get(value) for value in arguments]
        match values:
            case [str(text), str(agent), str(url)]:
                rules = RobotsFile("http://site.example", agent, 200, text.encode(), 0.0).rules
                expected = statement["expected"] == "TRUE"
                result.note(rules.allows(url) == expected, f"{name}: {agent!r} may fetch {url!r}: {expected}")
            case _:
                # A URL that the test builds from parts.
                continue


def _literal(text: str) -> str:
    return decoded_literals(text).decode("utf-8", "replace")


def decoded_literals(text: str) -> bytes:
    """String literals as C++ and protocol buffers write them, joined."""
    written = "".join(_LITERAL.findall(text))
    return written.encode().decode("unicode_escape").encode("latin-1")
