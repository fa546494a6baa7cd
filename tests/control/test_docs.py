"""The API's pages can be followed: every curl line and every example runs, and no call is missing."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from shoal import client
from shoal.control.app import ROUTES
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live
from tests.practice.bare_browser import dump_dom, profile_folder

DOCS = Path(__file__).parents[2] / "docs"
GUIDE, BULK, REFERENCE = DOCS / "guide.md", DOCS / "bulk.md", DOCS / "reference" / "api.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def placed(live: Live, text: str) -> str:
    """With the addresses of this test in place of those in the docs."""
    return text.replace("127.0.0.1:9000", live.site.url("").removeprefix("http://")).replace(
        "http://127.0.0.1:8000", live.url
    )


def typed(live: Live, folder: Path, text: str) -> str:
    """What the lines print, in a shell that ends at the first that fails."""
    missing = [name for name in ("curl", "jq") if shutil.which(name) is None]
    if missing and os.environ.get("CI") != "true":
        pytest.skip(f"{' and '.join(missing)} missing: install them (Debian, Ubuntu: apt-get install curl jq)")
    (folder / "shoal-data").mkdir(exist_ok=True)
    (folder / "shoal-data" / "admin-token").write_text(live.tokens[TokenScope.ADMIN] + "\n")
    shell = ["bash", "-e", "-u", "-o", "pipefail", "-c", placed(live, text)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_ten_lines_of_the_guide_go_from_submit_to_export(live: Live, tmp_path: Path) -> None:
    (lines,) = blocks(GUIDE, "sh")
    assert len(lines.splitlines()) == 10
    printed = typed(live, tmp_path, lines)
    assert '"rejected_count": 1' in printed and printed.rstrip().endswith("page")
    assert len((tmp_path / "pages.csv").read_text().splitlines()) == 9


def test_a_spreadsheet_comes_back_with_the_outcome_of_each_row(live: Live, tmp_path: Path) -> None:
    (given, report), (lines, command), (answer,) = blocks(BULK, "csv"), blocks(BULK, "sh"), blocks(BULK, "json")
    (tmp_path / "shops.csv").write_text(placed(live, given))
    typed(live, tmp_path, f"{lines}\nmv report.csv by-curl.csv\n{command}")
    told = json.loads((tmp_path / "appended.json").read_text())
    assert told == {**json.loads(answer), "id": told["id"]}
    expected = list(csv.DictReader(placed(live, report).splitlines()))
    for name in ("by-curl.csv", "report.csv"):
        assert list(csv.DictReader((tmp_path / name).read_text().splitlines())) == expected


def test_the_examples_of_the_reference_run(live: Live, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{live.page(400)}\n")
    more, one = blocks(REFERENCE, "sh")
    begin = blocks(BULK, "sh")[0].splitlines(keepends=True)[:2]
    printed = typed(live, tmp_path, "".join([*begin, more, one]))
    assert '"accepted": 1' in printed and "Pebble & Pine" in printed


def test_in_a_browser_a_call_is_open_with_a_form_and_the_address_of_this_server(live: Live) -> None:
    with profile_folder() as folder:
        page = LexborHTMLParser(dump_dom(f"{live.url}/docs#submit", folder))
    call = page.css_first("details#submit")
    assert call is not None and "open" in call.attributes
    assert [button.text() for button in call.css(".try form button")] == ["Send POST"]
    assert call.css_first(".try textarea[name=body]") is not None
    shown = [code.text() for code in page.css("pre > code")]
    assert f"export SHOAL_API_URL={live.url} SHOAL_TOKEN=shoal_…" in shown
    assert not any("127.0.0.1:8000" in text for text in shown)


def test_the_client_in_the_reference_runs(live: Live, tmp_path: Path) -> None:
    (text,) = blocks(REFERENCE, "python")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(compile(placed(live, text), "api.md", "exec"), {"TOKEN": live.tokens[TokenScope.ADMIN]})
    finally:
        os.chdir(before)
    assert len((tmp_path / "pages.csv").read_text().splitlines()) == 9


def test_every_call_is_in_the_reference_and_no_other() -> None:
    calls = {
        (f"{operation.method} {operation.path.replace('<', '{').replace('>', '}')}", operation.scope or "–")
        for routes in ROUTES
        for operation in routes.operations
    }
    table = REFERENCE.read_text().partition("## Calls\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `([A-Z]+ /\S+)` \| (\S+) \|", table, re.MULTILINE))
    assert told == calls | {("GET /openapi.json", "–"), ("GET /docs", "–")}


def test_every_call_of_the_client_is_in_the_reference() -> None:
    said = set(re.findall(r"\w+", REFERENCE.read_text().partition("## From Python")[2]))
    assert {name for name in dir(client.Client) if not name.startswith("_")} - said <= {"close"}
