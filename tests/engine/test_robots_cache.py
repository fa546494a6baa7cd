from __future__ import annotations

from shoal.engine.robots.cache import RobotsCache
from shoal.fetch.robots import RobotsFile

AGENT = "shoal/0.1"


def read(number: int, rules: int = 1_000) -> RobotsFile:
    lines = "".join(f"Disallow: /private/{rule}\n" for rule in range(rules))
    origin = f"http://{number}.example"
    return RobotsFile(origin, AGENT, 200, f"User-agent: *\n{lines}".encode(), 0.0).read()


def known(files: RobotsCache, numbers: range) -> list[int]:
    return [number for number in numbers if files.get(f"http://{number}.example", AGENT)]


def test_what_is_kept_is_bounded_by_its_memory_and_those_asked_for_last_stay() -> None:
    each = read(0).size_bytes
    files = RobotsCache(most_bytes=3 * each)
    for number in range(3):
        files.put(read(number))
    assert known(files, range(1)) == [0]
    files.put(read(3))
    assert known(files, range(4)) == [0, 2, 3]
    assert files.held_bytes == 3 * each


def test_a_file_that_is_read_anew_counts_once() -> None:
    files = RobotsCache()
    for rules in (10, 1_000, 20):
        files.put(read(1, rules))
    assert files.held_bytes == read(1, 20).size_bytes


def test_a_file_above_the_bound_is_kept_alone() -> None:
    files = RobotsCache(most_bytes=1)
    files.put(read(1))
    files.put(read(2))
    assert known(files, range(3)) == [2]


def test_a_file_that_was_read_says_the_same_without_its_text() -> None:
    robots = read(1)
    assert not robots.body and robots.read() == robots
    assert not robots.rules.allows("http://1.example/private/7") and robots.rules.allows("http://1.example/")
