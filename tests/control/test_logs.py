"""One id from a caller's request to the last line that any role logs about its job; names that programs can rely on."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import shoal
from shoal.practice import Shop, running
from tests.cli.conftest import Here, Shell
from tests.control.calling import Api, problem
from tests.control.live import serving
from tests.fleet.running import Running
from tests.frontier.redis_server import free_port

SOURCE = Path(shoal.__file__).parent
DOCS = SOURCE.parents[1] / "docs" / "logs.md"
LEVELS = ("debug", "info", "warning", "error", "exception")


def logged_events() -> Iterator[tuple[str, str]]:
    """Where, and the name of the event."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.is_relative_to(SOURCE / "scrapy"):
            # Runs in Scrapy's processes, and logs as Scrapy does.
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
                continue
            if isinstance(node.func.value, ast.Name | ast.Attribute) and ast.unparse(node.func.value).endswith("log"):
                where = f"{path.relative_to(SOURCE)}:{node.lineno}"
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{where}: the name of an event is spelt out"
                yield where, str(name.value)


def documented_events() -> set[str]:
    table = DOCS.read_text().partition("## Events")[2]
    return set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE))


def test_every_event_is_documented_and_no_other() -> None:
    found = {name: where for where, name in logged_events()}
    # Written where the call is chosen, and by the form itself.
    names = {*found, "request_answered", "library"}
    assert names - documented_events() == set(), found
    assert documented_events() - names == set()


def test_a_bug_is_answered_without_details_and_logged_with_the_request_id(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    def bug() -> str:
        raise ZeroDivisionError("of seven by nothing")

    api.client.application.add_url_rule("/api/v1/bug", "bug", bug)
    told = problem(api("GET", "/bug", headers={"X-Request-Id": "mine-1"}), 500)
    assert (told["title"], told["request_id"]) == ("Internal Server Error", "mine-1")
    assert "bug in Shoal" in told["detail"] and "seven" not in str(told)
    (line,) = [line for line in caplog.records if getattr(line, "event", None) == "request_failed"]
    assert "mine-1" in line.getMessage() and line.exc_info is not None
    assert isinstance(line.exc_info[1], ZeroDivisionError)


def ordered(api: str, token: str, url: str, headers: dict[str, str]) -> str:
    """The id of a job, which was answered with the request id that was given."""
    given = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    body = json.dumps({"urls": [url], "politeness": {"rate": 0}}).encode()
    with urlopen(Request(f"{api}/api/v1/jobs", body, given), timeout=30) as answered:
        assert headers.items() <= dict(answered.headers).items()
        return str(json.load(answered)["id"])


def test_one_request_id_is_on_every_line_about_its_job_in_every_role(tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=1, products=5, troubled=False)
    with running(shop, log=tmp_path / "site.log") as site, Running(tmp_path, processes=1) as fleet:
        with serving(fleet.environment, tmp_path) as (url, _):
            token = (fleet.home / "admin-token").read_text().strip()
            job = ordered(url, token, site.url(), {"X-Request-Id": "order-4711"})
            fleet.until_ended(job)
            other = ordered(url, token, site.url(), {})
            fleet.until_ended(other)
            fleet.workers[0].terminate()
            fleet.workers[0].ended()
        about = fleet("logs", job, "--json").lines
        assert {line["request_id"] for line in about} == {"order-4711"}
        assert {line["role"] for line in about} == {"api", "tend", "child"}
        events = [line["event"] for line in about]
        assert events[0] == "job_submitted" and events[-1] == "job_put_away"
        assert {"request_answered", "job_brought_in", "job_taken_up", "job_ended"} <= set(events)
        assert fleet("logs", "order-4711", "--json").lines == about
        words = fleet("logs", job).out
        assert f"job {job} is done" in words and other not in words and max(map(len, words.splitlines())) <= 80
        assert token not in "".join(path.read_text() for path in (fleet.home / "logs").iterdir())


def test_followed_lines_come_as_they_are_written(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    path = shell.home / "logs" / "tend.log"
    path.parent.mkdir(parents=True)
    line = {"at": "2026-01-01T00:00:00Z", "event": "job_waits", "level": "info", "role": "tend", "pid": 1, "job": "j"}
    path.write_text(json.dumps({**line, "message": "first"}) + "\n")
    with shell.start("logs", "j", "--follow") as process:
        assert process.stdout is not None
        assert "first" in process.stdout.readline()
        with path.open("a") as file:
            file.write(json.dumps({**line, "job": "other", "message": "not this"}) + "\n")
            file.write(json.dumps({**line, "message": "sec\x9b31mond"}) + "\n")
        assert r"sec\x9b31mond" in process.stdout.readline()
        process.terminate()


def test_without_log_events_it_says_so(tmp_path: Path) -> None:
    shell = Here(tmp_path)
    for asked, told in (((), "no log events in"), (("nosuch",), "no log events about 'nosuch' in")):
        ran = shell("logs", *asked)
        assert (ran.code, ran.out) == (0, "") and ran.err.startswith(f"{told} {shell.home}: ")


def test_stderr_can_be_text_the_file_is_json_and_neither_has_passwords(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    env = {"SHOAL_REDIS_URL": f"redis://:hunter2@127.0.0.1:{free_port()}/0"}
    for form in ("text", "json"):
        with shell.start("tend", env={**env, "SHOAL_LOG": form}) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            process.terminate()
            process.communicate()
        assert "waiting: Redis at 127.0.0.1" in line
        assert line.startswith("{") is (form == "json")
    said = (shell.home / "logs" / "tend.log").read_text()
    events = [json.loads(text) for text in said.splitlines()]
    assert [event["event"] for event in events] == ["waiting", "waiting"]
    assert "hunter2" not in said + line


def test_an_embedded_crawl_loads_nothing_of_it() -> None:
    code = "import sys, shoal.cli.commands.crawl, shoal.cli.run_job, shoal.cli.commands.submit; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"structlog", "prometheus_client", "flask"}.isdisjoint(loaded)
