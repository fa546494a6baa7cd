"""The compliance tests of Google's robots.txt parser. They are protocol buffers as text."""

from __future__ import annotations

import re
from pathlib import Path

from shoal.fetch.robots import RobotsFile
from tests.suites.google_robots import decoded_literals
from tests.suites.suite import Result

_CASES = Path("src/main/resources/CTC")
_STRING = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
_FIELD = re.compile(rf"\b(?:(robotstxt|testurl|useragent|additional_explanation):{_STRING}|expected_outcome:\s*(\w+))")


def run(checkout: Path) -> Result:
    result = Result()
    for file in sorted((checkout / _CASES).rglob("*.textproto")):
        _check(file, result)
    return result


def _check(file: Path, result: Result) -> None:
    """Each expectation has its URL and agent before its outcome, and follows the text that it is about."""
    values: dict[str, bytes] = {}
    for name, text, outcome in _FIELD.findall(file.read_text()):
        if name:
            values[name] = decoded_literals(text)
            continue
        agent, url = values["useragent"].decode(), values["testurl"].decode()
        rules = RobotsFile("http://site.example", agent, 200, values.get("robotstxt", b""), 0.0).rules
        result.note(rules.allows(url) == (outcome == "ALLOWED"), f"{file.stem}: {agent!r} on {url!r}: {outcome}")
