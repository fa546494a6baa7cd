"""The client where answers come late, early, cut short or not at all, and where the address is none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import repeat
from pathlib import Path

import pytest

from shoal.client import Client
from shoal.errors import ApiError, NoAnswer, Unavailable, UsageError
from tests.client.scripted import answer, scripted, slow_api

BUSY = "503 Service Unavailable"
TOO_LARGE = answer("413 Content Too Large", b'{"detail": "too much"}')
CALLS: list[Callable[[Client], object]] = [
    lambda shoal: shoal.submit(["https://example.com/"]),
    lambda shoal: shoal.append("x", ["https://example.com/"]),
    lambda shoal: shoal.add_schedule("daily", "30 4 * * *", {}),
    lambda shoal: shoal.run_schedule("daily"),
    lambda shoal: shoal.scrape("https://example.com/"),
]


def test_an_answer_to_a_body_that_is_still_being_sent_is_heard() -> None:
    with scripted(TOO_LARGE) as api, Client(api.url, "x") as shoal, pytest.raises(ApiError, match="too much") as error:
        shoal.append_lines("x", repeat(b"x" * 65536, 10_000))
    assert error.value.status == 413


def test_a_file_that_cannot_be_read_is_not_the_apis_fault() -> None:
    def lines() -> Iterator[bytes]:
        yield b"https://example.com/\n"
        raise OSError(5, "the disk is broken")

    with (
        scripted(answer("400 Bad Request")) as api,
        Client(api.url, "x") as shoal,
        pytest.raises(OSError, match="the disk is broken"),
    ):
        shoal.append_lines("x", lines())


@pytest.mark.parametrize("call", CALLS)
def test_what_is_made_once_is_asked_for_with_the_same_key_until_it_is_answered(
    call: Callable[[Client], object],
) -> None:
    made = b'{"id": "x", "accepted": 1, "duplicates": 0, "rejected": [], "rejected_count": 0}'
    unanswered = answer("409 Conflict", b"{}", "Retry-After: 0")
    with scripted(answer(BUSY), unanswered, answer("200 OK", made)) as api, Client(api.url, "x") as shoal:
        call(shoal)
    keys = [re.findall(rb"Idempotency-Key: (\w+)", head) for head in api.asked]
    assert len(keys) == 3 and len(keys[0]) == 1 and keys[0] == keys[1] == keys[2]


def test_a_conflict_that_will_not_pass_is_told_at_once() -> None:
    with scripted(answer("409 Conflict")) as api, Client(api.url, "x") as shoal, pytest.raises(ApiError):
        shoal.submit(["https://example.com/"])


def test_a_time_to_come_back_may_be_a_date() -> None:
    later = formatdate(time.time() + 2, usegmt=True)
    with scripted(answer(BUSY, b"{}", f"Retry-After: {later}"), answer("200 OK")) as api, Client(api.url, "x") as shoal:
        begun = time.monotonic()
        shoal.job("x")
    assert time.monotonic() - begun > 0.5


def test_what_is_cut_short_is_not_taken_for_whole(tmp_path: Path) -> None:
    short = answer("200 OK", b"half", length=8)
    with scripted(short, short) as api, Client(api.url, "x") as shoal:
        with pytest.raises(Unavailable, match="4 bytes too early"):
            shoal.body("x", "f" * 16)
        with pytest.raises(Unavailable):
            shoal.export("x", tmp_path / "pages.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_read_without_an_answer_is_given_up_sooner_than_a_change_and_asked_again() -> None:
    with scripted(None, answer("200 OK")) as api, Client(api.url, "x", read_timeout_s=0.1) as shoal:
        shoal.job("x")
    assert len(api.asked) == 2
    with scripted(None) as api, Client(api.url, "x", timeout_s=0.5, read_timeout_s=0.1) as shoal:
        begun = time.monotonic()
        with pytest.raises(NoAnswer):
            shoal.pause("x")
        assert time.monotonic() - begun >= 0.5


def test_an_api_that_is_slow_for_every_read_is_heard_in_the_end() -> None:
    with slow_api(0.3) as url, Client(url, "x", read_timeout_s=0.05) as shoal:
        shoal.job("x")
        shoal.job("x")


def test_what_is_no_api_is_said_to_be_none() -> None:
    with (
        scripted(answer("200 OK", b"<html>")) as api,
        Client(api.url, "x") as shoal,
        pytest.raises(Unavailable, match="not a Shoal API"),
    ):
        shoal.job("x")


@pytest.mark.parametrize(
    "url", ["http://ann:hush@host:1", "ann:hush@host:1", "http://ann:hush@host:no", "http://host:99999", "http://[::"]
)
def test_an_address_that_cannot_be_is_refused_and_no_password_shown(url: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT") as refused:
        Client(url, "x")
    assert "hush" not in str(refused.value)


def test_a_job_without_urls_must_be_meant() -> None:
    with Client("http://127.0.0.1:9", "x") as shoal, pytest.raises(UsageError, match="urls_follow"):
        shoal.submit([])
