"""The file of a role: written by several processes, bounded, read as one stream."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from shoal.telemetry.reading import About, Reader
from shoal.telemetry.role_file import RoleFile, path_of


def line(n: int, **about: str) -> str:
    return json.dumps({"at": f"2026-01-01T00:00:{n:02}Z", "event": "x", "message": str(n), **about})


def write(file: RoleFile, text: str) -> None:
    file.emit(logging.makeLogRecord({"msg": text}))


def test_of_two_that_find_it_full_one_sets_it_aside_and_nothing_is_lost(tmp_path: Path) -> None:
    path = path_of(tmp_path, "worker")
    assert path == path_of(tmp_path, "child")
    one, other = RoleFile(path, full_bytes=400), RoleFile(path, full_bytes=400)
    for n in range(10):
        write(one if n % 2 else other, line(n))
    one.close()
    other.close()
    assert path.with_suffix(".log.1").exists()
    assert [event["message"] for event in Reader(tmp_path).more()] == [str(n) for n in range(10)]


def test_one_that_finds_it_full_too_late_does_not_set_the_new_one_aside(tmp_path: Path) -> None:
    path = path_of(tmp_path, "worker")
    one, late = RoleFile(path, full_bytes=10), RoleFile(path)
    write(one, line(1))
    write(one, line(2)[:5])
    assert late.stream is not None
    late._set_aside(late.stream.fileno())
    one.close()
    late.close()
    assert path.read_text() == line(2)[:5] + "\n"
    assert path.with_suffix(".log.1").read_text() == line(1) + "\n"


def test_a_reader_goes_on_where_it_was_though_the_file_is_set_aside_or_cut(tmp_path: Path) -> None:
    path = path_of(tmp_path, "tend")
    path.parent.mkdir()
    reader = Reader(tmp_path)
    path.write_text(line(1) + "\n" + line(2)[:9])
    assert [event["message"] for event in reader.more()] == ["1"]
    path.write_text(line(1) + "\n" + line(2) + "\nTraceback: no event\n")
    assert [event["message"] for event in reader.more()] == ["2"]
    path.replace(path.with_suffix(".log.1"))
    path.write_text(line(3) + "\n")
    assert [event["message"] for event in reader.more()] == ["3"]
    path.write_text("")
    assert reader.more() == []
    path.write_text(line(4) + "\n")
    assert [event["message"] for event in reader.more()] == ["4"]


def test_a_job_is_found_by_the_request_that_began_it_and_the_other_way_round(tmp_path: Path) -> None:
    events = [
        json.loads(text) for text in (line(1, request_id="r"), line(2, job="j", request_id="r"), line(3, job="j"))
    ]
    other = json.loads(line(4, job="k", request_id="s"))
    for id in ("j", "r"):
        about = About(id)
        assert about.pick([*events, other]) == events
        assert about.pick([other, {**events[0], "at": "later"}]) == [{**events[0], "at": "later"}]
