"""More URLs for a job over HTTP: arrays and streams of lines, what is wrong with them, and that they are crawled."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.control.request_bodies import JSON_BYTES
from shoal.fleet.append_urls import PART
from shoal.fleet.fleet import Fleet
from shoal.model import JobState
from shoal.store.crawl.inputs import input_counts
from shoal.store.crawl.overflow import add_overflow
from shoal.store.fleet.tokens import TokenScope
from tests.control.calling import Api, api_over, problem
from tests.control.live import Live, memory_bytes
from tests.fleet.by_hand import FleetShell, fleet_shell

URL = "https://example.com/"
LINES = {"Content-Type": "text/plain"}


def appended(api: Api, job: str, data: str | bytes, media: str, query: str = "") -> dict[str, Any]:
    answered = api("POST", f"/jobs/{job}/urls{query}", data=data, headers={"Content-Type": media})
    assert answered.status_code == 200, answered.text
    told: dict[str, Any] = answered.get_json()
    return told


def report(api: Api, job: str) -> list[tuple[int, str, str]]:
    answered = api("GET", f"/jobs/{job}/export?what=inputs")
    rows = [json.loads(line) for line in answered.text.splitlines()]
    return [(row["line"], row["url"], row["reason"] or row["outcome"]) for row in rows]


def test_an_array_is_appended_and_what_is_no_url_is_told_with_its_place(api: Api) -> None:
    job = api.submit(URL)
    answered = api("POST", f"/jobs/{job}/urls", [URL, URL + "a", "mailto:x", " ", "example.com/a"])
    told = answered.get_json()
    assert answered.status_code == 200
    assert (told["id"], told["accepted"], told["duplicates"], told["rejected_count"]) == (job, 1, 2, 2)
    assert told["rejected"] == [
        {"line": 3, "url": "mailto:x", "reason": "not_http"},
        {"line": 4, "url": "", "reason": "malformed"},
    ]
    assert [line for line, *_ in report(api, job)] == [1, 2, 3, 4, 5, 6]


def test_lines_keep_their_numbers_among_comments_and_blanks(api: Api) -> None:
    job = api.submit(URL)
    told = appended(api, job, "\ufeff# shops\r\n\r\nexample.com/a\r\n/nowhere\r\nexample.com/b\r\n", "text/plain")
    assert (told["accepted"], told["rejected"]) == (2, [{"line": 4, "url": "/nowhere", "reason": "malformed"}])
    assert report(api, job)[1:] == [
        (4, "example.com/a", "queued"),
        (5, "/nowhere", "malformed"),
        (6, "example.com/b", "queued"),
    ]


def test_a_column_of_csv_is_taken_by_its_name(api: Api) -> None:
    job = api.submit(URL)
    told = appended(api, job, 'shop,site\nOne,"example.com/a"\nTwo,\nThree,example.com/c\n', "text/csv", "?column=site")
    assert (told["accepted"], told["rejected"]) == (2, [{"line": 3, "url": "", "reason": "empty"}])


def test_lines_of_json_are_strings_or_objects_with_a_url(api: Api) -> None:
    job = api.submit(URL)
    lines = ['"https://example.com/\\u00e9"', '{"url": "example.com/a", "shop": 7}', "[1]", "{", '{"shop": 1}', ""]
    told = appended(api, job, "\n".join(lines), "application/x-ndjson")
    assert told["accepted"] == 2
    assert [(bad["line"], bad["reason"]) for bad in told["rejected"]] == [
        (3, "not_json"),
        (4, "not_json"),
        (5, "not_json"),
    ]


def test_a_password_is_the_jobs_own_or_is_not_taken(api: Api) -> None:
    job = api.submit("https://ann:hush@example.com/")
    given = ["https://ann:hush@example.com/a", "https://bob:hush@example.com/b", "https://ann:hush@example.org/"]
    answered = api("POST", f"/jobs/{job}/urls", given)
    assert [bad["reason"] for bad in answered.get_json()["rejected"]] == ["other_credentials", "new_credentials"]
    assert "hush" not in answered.text and "hush@" not in str(report(api, job))


def test_what_cannot_be_read_at_all_is_refused_and_nothing_is_kept(api: Api) -> None:
    job = api.submit(URL)

    def refused(data: bytes, media: str, query: str = "") -> str:
        answered = api("POST", f"/jobs/{job}/urls{query}", data=data, headers={"Content-Type": media})
        return str(problem(answered, 415 if media == "image/png" else 422)["detail"])

    assert "text/csv" in refused(b"a,b\n", "text/plain", "?column=b")
    assert "column" in refused(b"a,b\n", "text/csv")
    assert "no column 'c'" in refused(b"a,b\nx,y\n", "text/csv", "?column=c")
    assert "contains no URL" in refused(b"# nothing\n", "text/plain")
    assert "not text" in refused(bytes(range(32)) * 40, "text/plain")
    assert "text/plain" in refused(b"x", "image/png")
    problem(api("POST", f"/jobs/{job}/urls", []), 422)
    problem(api("POST", f"/jobs/{job}/urls", [1]), 422)
    problem(api("POST", "/jobs/nope/urls", [URL]), 404)
    problem(api("POST", f"/jobs/{job}/urls", [URL], TokenScope.READ), 403)
    assert len(report(api, job)) == 1


def test_a_stream_may_be_longer_than_json_may(api: Api) -> None:
    job = api.submit(URL)
    announced = {"CONTENT_LENGTH": str(JSON_BYTES + 1)}
    answered = api("POST", f"/jobs/{job}/urls", data=b"example.com/a\n", headers=LINES, environ_overrides=announced)
    # The rest of it did not come.
    assert "ended early" in problem(answered, 400)["detail"]
    array = {"Content-Type": "application/json"}
    problem(api("POST", f"/jobs/{job}/urls", data=b"[]", headers=array, environ_overrides=announced), 413)


def test_a_cancelled_job_takes_no_more(api: Api) -> None:
    job = api.submit(URL)
    api("POST", f"/jobs/{job}/cancel")
    assert "cancelled" in problem(api("POST", f"/jobs/{job}/urls", [URL + "a"]), 409)["detail"]


def test_at_the_frontiers_cap_the_caller_is_asked_to_wait(api: Api) -> None:
    job = api.submit(URL)
    add_overflow(api.bridge.store, [(job, "{}")])
    answered = api("POST", f"/jobs/{job}/urls", data=b"example.com/a\n", headers=LINES)
    assert "nothing of this call is stored" in problem(answered, 429)["detail"]
    assert int(answered.headers["Retry-After"]) > 0
    assert "nothing of this call is stored" in problem(api("POST", f"/jobs/{job}/urls", [URL + "a"]), 429)["detail"]
    assert input_counts(api.bridge.store, job).accepted == 1


def test_a_stream_that_meets_the_frontiers_cap_is_told_what_became_of_its_lines(api: Api) -> None:
    job = api.submit(URL)
    first = b"mailto:x\nexample.com/1\n" + b"".join(b"example.com/%d\n" % number for number in range(1, PART - 1))
    rest = b"example.com/more\n"

    class Body(io.RawIOBase):
        def readinto(self, buffer: Any) -> int:
            if coming.tell() == len(first):
                add_overflow(api.bridge.store, [(job, "{}")])
            some = coming.read(min(len(buffer), len(first) - coming.tell() or len(rest)))
            buffer[: len(some)] = some
            return len(some)

    coming = io.BytesIO(first + rest)
    sent = {"wsgi.input": Body(), "CONTENT_LENGTH": str(len(first + rest))}
    answered = api("POST", f"/jobs/{job}/urls", headers=LINES, environ_overrides=sent)
    told = problem(answered, 429)["detail"]
    counts = f"{PART - 2:,} accepted, 1 duplicate, 1 rejected"
    assert told.endswith(f"; lines up to {PART:,} are stored ({counts}), send the rest later")
    assert len(report(api, job)) == 1 + PART


def test_a_repeated_array_with_its_key_is_appended_once(api: Api) -> None:
    job = api.submit(URL)
    twice = [api("POST", f"/jobs/{job}/urls", [URL + "a"], headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert twice[0].get_json() == twice[1].get_json() and twice[0].get_json()["accepted"] == 1
    assert len(report(api, job)) == 2


def test_without_redis_nothing_is_appended(tmp_path: Path) -> None:
    with fleet_shell(tmp_path) as fleet, api_over(fleet.settings) as api:
        job = api.submit(URL)
        fleet.redis.kill()
        answered = api("POST", f"/jobs/{job}/urls", [URL + "a"])
        problem(answered, 503)
        assert answered.headers["Retry-After"] and len(report(api, job)) == 1


def test_a_job_that_has_ended_is_reopened(fleet: FleetShell, api: Api) -> None:
    job = api.submit(URL)
    fleet.begin(job)
    fleet.end(job, JobState.DONE)
    assert api("POST", f"/jobs/{job}/urls", [URL]).get_json()["duplicates"] == 1
    assert api.get(f"/jobs/{job}")["state"] == "done"
    assert api("POST", f"/jobs/{job}/urls", [URL + "a"]).get_json()["accepted"] == 1

    async def knows(place: Fleet) -> bool:
        return await place.frontier.knows(job)

    # Tend restores it from the store, because nobody else knows what had ended.
    assert not fleet.by_hand(knows)
    assert api.get(f"/jobs/{job}")["state"] != "done"


def test_appended_urls_are_crawled_while_the_job_runs_and_when_it_has_ended(live: Live) -> None:
    job = live.submit(live.page(1), scope="listed")
    assert live.fleet.until_ended(job)["pages"] == 1
    for first in (1, 6):
        lines = [f"{live.page(number)}\n".encode() for number in range(first, first + 8)]
        status, told = live.send("POST", f"/jobs/{job}/urls", iter(lines), "text/plain")
        assert status == 200, told
    live.fleet.until(lambda: live.fleet.figures(job)["pages"] == 13)
    figures = live.fleet.until_ended(job)
    assert (figures["state"], figures["found"], figures["pages"]) == ("done", 13, 13)


def test_the_host_of_an_appended_url_joins_the_scope(live: Live) -> None:
    job = live.submit(live.page(1), scope="prefix", limits={"pages": 10_000})
    live.fleet.until_pages(job, 1)
    status, told = live.call("POST", f"/jobs/{job}/urls", [live.site.url("/", live.site.addresses[1])])
    assert status == 200, told
    live.fleet.until_ended(job)
    hosts = {page["url"].split("/")[2] for page in _pages(live, job)}
    assert len(hosts) == 2
    assert len(_pages(live, job)) > 30


def test_of_a_stream_that_breaks_off_whole_parts_are_kept(live: Live) -> None:
    job = live.submit("https://example.invalid/", lane="slow")
    live.call("POST", f"/jobs/{job}/pause")
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = [f"POST /api/v1/jobs/{job}/urls HTTP/1.1", f"Host: {host}", "Content-Type: text/plain"]
        head += [f"Authorization: Bearer {live.tokens[TokenScope.ADMIN]}", "Transfer-Encoding: chunked", "", ""]
        connection.sendall("\r\n".join(head).encode())
        body = "".join(f"https://example.invalid/{number}\n" for number in range(5_000)).encode()
        connection.sendall(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        live.fleet.until(lambda: _given(live, job) > 4_000)
        connection.shutdown(socket.SHUT_WR)
        assert b" 400 " in connection.recv(1 << 16).split(b"\r\n")[0]
    assert _given(live, job) == 4_001


def test_a_long_stream_is_not_held_in_memory(live: Live) -> None:
    job = live.submit("https://example.invalid/", lane="slow")
    live.call("POST", f"/jobs/{job}/pause")
    before = memory_bytes(live.pid)
    status, told = live.send("POST", f"/jobs/{job}/urls", _long_lines(30_000), "text/plain")
    assert (status, json.loads(told)["accepted"]) == (200, 30_000), told
    # The lines alone are 45 MB; a thread that reads its first stream takes some 20 for good.
    assert memory_bytes(live.pid) - before < 32 << 20


def _long_lines(n: int) -> Iterator[bytes]:
    path = "x" * 1_500
    for start in range(0, n, 1_000):
        yield "".join(f"https://example.invalid/{path}/{start + more}\n" for more in range(1_000)).encode()


def _given(live: Live, job: str) -> int:
    async def count(fleet: Fleet) -> int:
        return input_counts(fleet.store, job).accepted

    return live.fleet.by_hand(count)


def _pages(live: Live, job: str) -> list[dict[str, Any]]:
    _, text = live.send("GET", f"/jobs/{job}/export?what=pages")
    return [json.loads(line) for line in text.splitlines()]
