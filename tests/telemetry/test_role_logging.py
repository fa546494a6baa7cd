"""What a role writes on stderr and to its file: each event complete, in one line, without secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import logging, sys
from pathlib import Path
from shoal.settings import Settings
from shoal.telemetry import EventLogger, request_id
from shoal.telemetry.role_logging import set_up_role

set_up_role("child", Settings(Path(sys.argv[1]), log=sys.argv[2]), verbose=False)
log = EventLogger("shoal.test")
log.debug("unheard", "not said")
log.info("waiting", "Redis at redis://:hunter2@h/0\\nis away \\x9b1m", job="j", tried=["http://a/?token=hunter2"])
request_id.set("r-1")
try:
    raise ValueError("cookie: hunter2")
except ValueError:
    log.exception("crawl_failed", "it failed")
logging.getLogger("celery").warning("lost %s", "amqp://u:hunter2@h")
logging.getLogger("celery").info("chatter")
"""


def run(home: Path, form: str) -> list[str]:
    """Returns the output on stderr."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(home), form], capture_output=True, text=True, check=True)
    return ran.stderr.splitlines()


def read(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("form", ["auto", "json"])
def test_without_a_terminal_every_event_is_a_json_object_with_its_fields(tmp_path: Path, form: str) -> None:
    lines = run(tmp_path, form)
    away, failed, library = read(lines)
    assert away["event"] == "waiting" and away["level"] == "info" and away["role"] == "child" and away["pid"]
    assert away["message"] == "Redis at redis://:***@h/0\nis away \x9b1m" and "\x9b" not in lines[0]
    assert away["job"] == "j" and away["tried"] == ["http://a/?token=***"] and "request_id" not in away
    assert failed["request_id"] == "r-1" and failed["error"] == "ValueError: cookie: ***"
    assert failed["traceback"].startswith("Traceback")
    assert (
        library["event"] == "library" and library["logger"] == "celery" and library["message"] == "lost amqp://u:***@h"
    )
    assert read((tmp_path / "logs" / "worker.log").read_text().splitlines()) == [away, failed, library]


def test_stderr_has_text_and_the_file_has_json(tmp_path: Path) -> None:
    lines = run(tmp_path, "text")
    assert lines[0].endswith(r"info: Redis at redis://:***@h/0 is away \x9b1m") and " child " in lines[0]
    assert "hunter2" not in "\n".join(lines)
    assert [event["event"] for event in read((tmp_path / "logs" / "worker.log").read_text().splitlines())] == [
        "waiting",
        "crawl_failed",
        "library",
    ]


def test_a_role_whose_stderr_is_its_file_writes_each_event_once_as_json(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "worker.log"
    path.parent.mkdir()
    with path.open("ab") as file:
        subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), "text"], stderr=file, check=True)
    assert [event["event"] for event in read(path.read_text().splitlines())] == ["waiting", "crawl_failed", "library"]


def test_an_unwritable_home_is_reported_and_events_go_to_stderr_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    events = [event["event"] for event in read(run(tmp_path, "json"))]
    assert events == ["log_file_missing", "waiting", "crawl_failed", "library"]
