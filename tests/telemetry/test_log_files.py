"""The log file of a role: several processes write it, its size is limited, and it is read as one stream."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from shoal.telemetry.log_files import RoleLogHandler, path_of
from shoal.telemetry.read_logs import LogFilter, LogReader


def line(n: int, **about: str) -> str:
    return json.dumps({"at": f"2026-01-01T00:00:{n:02}Z", "event": "x", "message": str(n), **about})


def write(file: RoleLogHandler, text: str) -> None:
    file.emit(logging.makeLogRecord({"msg": text}))


def test_only_one_of_two_processes_rotates_a_full_file_and_nothing_is_lost(tmp_path: Path) -> None:
    path = path_of(tmp_path, "worker")
    assert path == path_of(tmp_path, "child")
    one, other = RoleLogHandler(path, full_bytes=400), RoleLogHandler(path, full_bytes=400)
    for n in range(10):
        write(one if n % 2 else other, line(n))
    one.close()
    other.close()
    assert path.with_suffix(".log.1").exists()
    assert [event["message"] for event in LogReader(tmp_path).new_events()] == [str(n) for n in range(10)]


def test_a_process_that_is_too_late_does_not_rotate_the_new_file(tmp_path: Path) -> None:
    path = path_of(tmp_path, "worker")
    one, late = RoleLogHandler(path, full_bytes=10), RoleLogHandler(path)
    write(one, line(1))
    write(one, line(2)[:5])
    assert late.stream is not None
    late._rotate(late.stream.fileno())
    one.close()
    late.close()
    assert path.read_text() == line(2)[:5] + "\n"
    assert path.with_suffix(".log.1").read_text() == line(1) + "\n"


def test_a_reader_continues_after_the_file_is_rotated_or_truncated(tmp_path: Path) -> None:
    path = path_of(tmp_path, "tend")
    path.parent.mkdir()
    reader = LogReader(tmp_path)
    path.write_text(line(1) + "\n" + line(2)[:9])
    assert [event["message"] for event in reader.new_events()] == ["1"]
    path.write_text(line(1) + "\n" + line(2) + "\nTraceback: no event\n")
    assert [event["message"] for event in reader.new_events()] == ["2"]
    path.replace(path.with_suffix(".log.1"))
    path.write_text(line(3) + "\n")
    assert [event["message"] for event in reader.new_events()] == ["3"]
    path.write_text("")
    assert reader.new_events() == []
    path.write_text(line(4) + "\n")
    assert [event["message"] for event in reader.new_events()] == ["4"]


def test_a_job_is_found_by_its_request_id_and_a_request_by_its_job(tmp_path: Path) -> None:
    events = [
        json.loads(text) for text in (line(1, request_id="r"), line(2, job="j", request_id="r"), line(3, job="j"))
    ]
    other = json.loads(line(4, job="k", request_id="s"))
    for id in ("j", "r"):
        about = LogFilter(id)
        assert about.matching([*events, other]) == events
        assert about.matching([other, {**events[0], "at": "later"}]) == [{**events[0], "at": "later"}]
