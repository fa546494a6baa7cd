from __future__ import annotations

from shoal.cli.failures import HINTS, group_lines
from shoal.store.figures import Failures

HOST = "shop.example.com"
DETAIL = f"Failed to connect to {HOST} port 443 after 2 ms: Could not connect to server"


def group(kind: str, sample: str, status: int | None = None) -> Failures:
    return Failures(kind, status, HOST, 3, sample)


def told(*groups: Failures, most: int = 8) -> list[str]:
    return group_lines(list(groups), "shoal dead a1 --retry", "shoal job a1", 80, most)


def test_failures_are_folded_to_the_terminal_and_lose_no_word() -> None:
    lines = told(group("connect", f"https://{HOST}/a: {DETAIL}"), group("http", f"https://{HOST}/b", 429))
    assert max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    assert f"e.g. https://{HOST}/a: {DETAIL}" in said and "its waits are kept to" in said


def test_what_to_do_fits_80_columns_but_for_the_command() -> None:
    assert [words for words in HINTS.values() if len(words) > 76] == []


def test_a_url_wider_than_the_terminal_keeps_both_ends() -> None:
    lines = told(group("timeout", f"https://{HOST}/{'a' * 100_000}/end"))
    assert max(map(len, lines)) <= 80 and len(lines) < 5
    assert lines[1].startswith(f"      https://{HOST}/a") and lines[1].endswith("a/end")


def test_groups_beyond_the_most_are_counted_with_the_command_that_shows_them() -> None:
    groups = [group("http", f"https://{HOST}/", status) for status in (500, 502, 504)]
    assert told(*groups, most=1)[-1] == "  and 2 more groups: shoal job a1"
    assert not any("more group" in line for line in told(*groups))
