"""The exact bytes of the hostile site, and that endless answers cost it nothing."""

import asyncio
import itertools
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice import Answer, Hostile, Server, Visit, read_log
from shoal.practice.request_log import RequestLog

HURRIED = Hostile(hurried=True)


def _ask(path: str, host: str = "127.0.0.1") -> Answer:
    return HURRIED.answer(Visit(host, 80, "GET", path, path, "", {}))


def _raw(visit: Visit) -> Answer:
    pieces: Iterator[bytes] = itertools.repeat(b"x" * 65_536) if visit.path == "/endless" else iter([b"any", b"thing"])
    return Answer(200, b"", raw=pieces)


async def test_raw_bytes_are_sent_unchanged_and_then_the_connection_is_closed(tmp_path: Path) -> None:
    async with Server(_raw, ["127.0.0.1"], log=RequestLog(tmp_path / "log")) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await asyncio.wait_for(reader.read(), 20) == b"anything"
        writer.close()
    assert [entry.status for entry in read_log(tmp_path / "log")] == [200]


async def test_an_endless_answer_waits_for_its_visitor_and_ends_with_it(tmp_path: Path) -> None:
    async with Server(_raw, ["127.0.0.1"], log=RequestLog(tmp_path / "log")) as server:
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /endless HTTP/1.1\r\n\r\n")
        for _ in range(100):
            await asyncio.wait_for(reader.readexactly(10_000), 20)
        writer.close()
        async with asyncio.timeout(120):
            while server.in_flight("127.0.0.1"):  # noqa: ASYNC110 - it ends in the server's own callback
                await asyncio.sleep(0.005)
    assert [entry.status for entry in read_log(tmp_path / "log")] == [None]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 50_000


@pytest.mark.parametrize("host", HURRIED.addresses)
def test_every_path_of_the_expected_results_is_served(host: str) -> None:
    truth = HURRIED.truth()[host]
    for path, status in {**truth.pages, **truth.unlinked}.items():
        assert _ask(path, host).status == status
    for path, there in truth.redirects.items():
        assert _ask(path, host).headers["Location"] == there
    assert all(_ask(path, host).status != 404 for path in (*truth.broken, *truth.endless, *truth.dropped))


def test_the_first_host_links_to_all_others_and_to_its_behaviours() -> None:
    front = _ask("/").body.decode()
    assert all(f"http://{host}:80/" in front for host in HURRIED.addresses[1:])
    assert 'href="/bombs/gzip.html"' in front and 'href="/hops/0"' in front


def test_a_hurried_site_leaves_out_silence_and_drips() -> None:
    patient, hurried = Hostile().truth(), HURRIED.truth()
    assert patient.keys() - hurried.keys() == {"127.0.0.8"}
    more = patient["127.0.0.1"].broken.keys() - hurried["127.0.0.1"].broken.keys()
    assert more == {"/framing/drip.html", "/framing/silence.html"}
