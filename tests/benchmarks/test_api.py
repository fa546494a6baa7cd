"""What the API's figures rest on: calls that are due in time, cores that are kept apart, real parts, a true report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.api.asking import CONNECTIONS, PER_S, asking
from benchmarks.api.measured import Api
from benchmarks.api.served import on_core, two_cores
from benchmarks.api.status import Status, Told, status
from benchmarks.api.streaming import Streaming
from benchmarks.api.submitting import Posted, Submitting
from benchmarks.fleet.versus import FleetRun
from benchmarks.report import render
from benchmarks.results import Circumstances, Result, keep, kept
from shoal.client import Client
from tests.frontier.redis_server import redis_program

STALL_S = 0.5
needs_two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one core")


class Stalling(ThreadingHTTPServer):
    """Answers at once, but for a while in which it answers nobody."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.resumes_at = 0.0


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stalling

    def do_GET(self) -> None:
        time.sleep(max(0.0, self.server.resumes_at - time.monotonic()))
        text = json.dumps({"id": "job"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stalling() -> Iterator[Stalling]:
    with Stalling() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server
        server.shutdown()


def test_calls_that_a_stall_held_up_count_from_when_they_were_due(stalling: Stalling) -> None:
    url = f"http://127.0.0.1:{stalling.server_port}"
    with asking(lambda: Client(url, "token"), "job") as calls:
        time.sleep(0.3)
        stalling.resumes_at = time.monotonic() + STALL_S
        time.sleep(STALL_S + 0.5)
    due = sorted(call.due_at for call in calls)
    assert due[-1] - due[0] > STALL_S
    assert len(due) == pytest.approx((due[-1] - due[0]) * PER_S, abs=CONNECTIONS + 1)
    # One call at a time per connection would see the stall eight times, and nobody ask meanwhile.
    late = [call for call in calls if call.took_s > STALL_S / 5]
    assert len(late) > STALL_S * PER_S / 2 > 2 * CONNECTIONS
    assert max(call.took_s for call in calls) > 0.8 * STALL_S


@needs_two_cores
def test_what_is_started_on_a_core_stays_there() -> None:
    before, cores = os.sched_getaffinity(0), two_cores()
    assert cores.crawl != cores.api
    shown = "import os; print(*os.sched_getaffinity(0))"
    with on_core(cores.crawl), on_core(cores.api):
        told = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [str(cores.api)]
    assert os.sched_getaffinity(0) == before


@needs_two_cores
@pytest.mark.usefixtures("needs_nginx")
def test_a_crawl_is_measured_alone_and_while_it_is_asked_for() -> None:
    redis_program()
    figures = status(two_cores(), pages=40, rounds=1)
    told = figures.told[0]
    assert told.calls > 0 and 0 < told.p50_ms <= told.p99_ms <= told.max_ms
    assert all(run.cpu_s > 0 and run.redis_cpu_s > 0 for run in (*figures.alone, *figures.asked))


FIGURES = Api(
    Submitting(10_000, [Posted(0.2, 0.5)], [5.0]),
    Status(
        20_000,
        [FleetRun(20_000, 10.0, 20.0, 80_000_000, 1.0, 1.0)],
        [FleetRun(20_000, 10.5, 21.0, 80_000_000, 1.5, 1.0)],
        [Told(2_000, 4.0, 20.5, 41.0, 1.5)],
    ),
    Streaming(1_000_000, 25.0, 40.0, 100_000_000, 130_000_000),
)


def test_figures_are_told_and_the_same_when_they_were_kept(tmp_path: Path) -> None:
    result = Result(Circumstances("python -m benchmarks", "2026-01-02", "a machine", 0.5, "3.11"), FIGURES)
    keep(tmp_path, "api", result)
    assert kept(tmp_path, ["api"]) == {"api": result}
    text = render({"api": result})
    for line in (
        "## API\n",
        "| `apply_async` each | 5.00 (5.00 – 5.00) | 25.0 x (25.0 – 25.0) |",
        "All could be leased 0.50 (0.50 – 0.50) s after the POST began.",
        "| 2,000 | 4.0 (4.0 – 4.0) | 20.5 (20.5 – 20.5) | 41.0 (41.0 – 41.0) | 1.5 (1.5 – 1.5) |",
        "| all | 0.600 (0.600 – 0.600) | 0.650 (0.650 – 0.650) | 1.08 x (1.08 – 1.08) |",
        "- Answered after 25 s, 40,000 lines per second; all could be leased after 40 s",
        "- Memory of the API: 100 MB before, 30 MB more at its peak",
    ):
        assert line in text
