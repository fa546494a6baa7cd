from __future__ import annotations

from shoal.cli.request_failures import group_lines, offline_lines
from shoal.jobs.failure_hints import HINTS
from shoal.store.failure_trend import trend_of_times
from shoal.store.results.job_figures import Failures

HOST = "shop.example.com"
SPAN = 1_000_000.0, 1_000_960.0
DETAIL = f"Failed to connect to {HOST} port 443 after 2 ms: Could not connect to server"


def group(kind: str, sample: str, status: int | None = None) -> Failures:
    return Failures(kind, status, HOST, 3, sample)


def at_times(*times: float) -> Failures:
    return Failures("http", 503, HOST, len(times), f"https://{HOST}/", times[0], times[-1], trend_of_times(times))


def told(*groups: Failures, most: int = 8) -> list[str]:
    return group_lines(list(groups), "shoal dead a1 --retry", "shoal job a1", 1_500_000, 80, most, SPAN)


def test_failures_are_wrapped_to_the_terminal_completely() -> None:
    lines = told(group("connect", f"https://{HOST}/a: {DETAIL}"), group("http", f"https://{HOST}/b", 429))
    assert max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    assert f"e.g. https://{HOST}/a: {DETAIL}" in said and "its waits are obeyed" in said


def test_hints_fit_80_columns_except_for_commands() -> None:
    assert [words for words in HINTS.values() if len(words) > 76] == []


def test_a_page_that_is_too_large_is_told_with_the_limit_of_the_job() -> None:
    *_, hint = told(group("too_large", f"https://{HOST}/"))
    assert hint == "    over --max-page-bytes (1.5 MB, 4 times that unpacked), or 300 kB of headers"


def test_a_url_wider_than_the_terminal_keeps_both_ends() -> None:
    lines = told(group("timeout", f"https://{HOST}/{'a' * 100_000}/end"))
    assert max(map(len, lines)) <= 80 and len(lines) < 5
    assert lines[1].startswith(f"      https://{HOST}/a") and lines[1].endswith("a/end")


def test_a_trend_shows_whether_failures_grow_or_are_over() -> None:
    growing = [SPAN[0] + 80 * part + second for part in range(12) for second in range(part)]
    early = [SPAN[0] + second for second in range(50)]
    (grows,), (over,) = (told(at_times(*times))[:1] for times in (growing, early))
    assert f"503 x66 at {HOST} ▁▂▂▃▄▄▅▅▆▇▇█ last " in grows
    assert f"503 x50 at {HOST} █▁▁▁▁▁▁▁▁▁▁▁ last " in over


def test_a_job_of_some_seconds_has_no_trend() -> None:
    brief = group_lines([at_times(SPAN[0])], "", "", 1, 80, 8, (SPAN[0], SPAN[0] + 60))
    assert brief[0] == f"  503 x1 at {HOST}, e.g. https://{HOST}/"


def test_hidden_groups_are_counted_with_the_command_that_shows_them() -> None:
    groups = [group("http", f"https://{HOST}/", status) for status in (500, 502, 504)]
    assert told(*groups, most=1)[-1] == "  and 2 more groups: shoal job a1"
    assert not any("more group" in line for line in told(*groups))


def test_a_hint_stands_once_however_many_hosts_have_the_failure() -> None:
    groups = [Failures("dns", None, f"{name}.example", 1, f"https://{name}.example/") for name in "abc"]
    assert [line for line in told(*groups) if "does not resolve" in line] == [f"    {HINTS['dns']}"]


def test_only_a_machine_that_reached_no_host_is_taken_for_offline() -> None:
    groups = [Failures("dns", None, f"{name}.example", 1, f"https://{name}.example/") for name in "abc"]
    assert offline_lines(groups, answered=False) == ["  no name resolves: is this machine online?"]
    assert offline_lines(groups, answered=True) == [], "another host answered"
    assert offline_lines([*groups, group("timeout", f"https://{HOST}/")], answered=False) == [], (
        "another host has a name"
    )
    assert offline_lines(groups[:1], answered=False) == []
