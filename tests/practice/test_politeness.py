"""The check of politeness must fail for impolite logs."""

import pytest

from shoal.practice import LogEntry
from tests.politeness import assert_polite, fetched_more_than_once, max_in_flight, max_in_window


def _entry(t_start: float, path: str = "/", in_flight: int = 1, status: int = 200, host: str = "a") -> LogEntry:
    return LogEntry(t_start, t_start + 0.1, host, "GET", path, status, "shoal", 1, in_flight)


def test_requests_at_the_allowed_rate_are_polite() -> None:
    log = [_entry(second / 2) for second in range(20)]
    assert max_in_window(log, "a") == 2
    assert_polite(log, rate=2, per_host=1)


def test_a_burst_is_found_anywhere_in_the_log() -> None:
    log = [_entry(t) for t in (0, 10, 10.6, 10.9, 11.5, 11.55, 20)]
    assert max_in_window(log, "a") == 4
    with pytest.raises(AssertionError, match="a saw 4 requests in 1 s"):
        assert_polite(log, rate=2, per_host=1)


def test_one_request_over_the_rate_is_allowed_and_two_are_not() -> None:
    assert_polite([_entry(0), _entry(0.5), _entry(0.999)], rate=2, per_host=1)
    with pytest.raises(AssertionError):
        assert_polite([_entry(0), _entry(0.5), _entry(0.6), _entry(0.999)], rate=2, per_host=1)


def test_each_host_is_checked_separately() -> None:
    log = [_entry(0, host=host) for host in "abcdef"]
    assert max_in_window(log, "a") == 1
    assert_polite(log, rate=1, per_host=1)


def test_robots_txt_does_not_count_towards_the_rate() -> None:
    assert max_in_window([_entry(0, "/robots.txt"), _entry(0)], "a") == 1


def test_too_many_concurrent_requests_are_impolite_at_any_rate() -> None:
    log = [_entry(0, in_flight=1), _entry(5, in_flight=3)]
    assert max_in_flight(log, "a") == 3
    with pytest.raises(AssertionError, match="3 requests in flight"):
        assert_polite(log, rate=0, per_host=2)


def test_an_empty_log_fails_the_check() -> None:
    with pytest.raises(AssertionError, match="nobody visited"):
        assert_polite([], rate=2, per_host=2)


def test_a_retry_does_not_count_as_a_second_fetch() -> None:
    log = [_entry(0, "/x", status=503), _entry(1, "/x"), _entry(2, "/y"), _entry(3, "/y", status=404)]
    assert fetched_more_than_once(log) == {("a", "/y"): 2}
