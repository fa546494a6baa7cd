"""The compliance test suite of JSONPath, RFC 9535."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal.extract.extract_errors import BadSelector
from shoal.extract.jsonpath import JsonPath
from shoal.extract.parse_json import parsed_json
from tests.suites.suite import Result


def run(checkout: Path) -> Result:
    result = Result()
    for case in json.loads((checkout / "cts.json").read_text())["tests"]:
        result.note(_agrees(case), f"{case['name']}: {case['selector']!r}")
    return result


def _agrees(case: dict[str, Any]) -> bool:
    try:
        path = JsonPath(case["selector"])
    except BadSelector:
        return bool(case.get("invalid_selector"))
    if case.get("invalid_selector"):
        return False
    found = path.select(parsed_json(json.dumps(case["document"]), fractions=float))
    return found in case["results"] if "results" in case else bool(found == case["result"])
