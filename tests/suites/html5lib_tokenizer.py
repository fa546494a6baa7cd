"""The tokenizer tests of html5lib that begin in markup: the scanner finds the same text, and what lexbor finds else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal.extract.scan_parser import ScanParser
from shoal.extract.tree_parser import TreeParser
from tests.extract.parser_facts import facts
from tests.suites.suite import Result

_DATA = "Data state"


def run(checkout: Path) -> Result:
    result = Result()
    for file in sorted((checkout / "tokenizer").glob("*.test")):
        for case in json.loads(file.read_text(encoding="utf-8")).get("tests", ()):
            # Pages have no zeros and no lone surrogates: they are replaced before.
            if _DATA in case.get("initialStates", (_DATA,)) and "\0" not in case["input"]:
                html = case["input"].encode("utf-8", "replace")
                result.note(_agrees(html, case), f"{file.name}: {case['description']}: {html[:80]!r}")
    return result


def _agrees(html: bytes, case: dict[str, Any]) -> bool:
    scanned = facts(ScanParser(html)).without_spaces()
    expected = "".join(token[1] for token in case["output"] if token[0] == "Character")
    return scanned.text == "".join(expected.split()) and scanned == facts(TreeParser(html)).without_spaces()
