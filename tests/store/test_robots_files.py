from __future__ import annotations

import threading

from shoal.store.crawl.robots_files import RobotsRecord, claim_robots, disclaim_robots, load_robots, save_robots
from shoal.store.store import Store

ORIGIN = "https://a.test"


def test_robots_are_remembered_by_origin(store: Store) -> None:
    first = RobotsRecord(ORIGIN, 200, b"User-agent: *\nDisallow: /\xff\0", 10.0)
    save_robots(store, [first])
    save_robots(store, [RobotsRecord("https://b.test", None, b"", 11.0)])
    assert load_robots(store, ORIGIN) == first
    newer = RobotsRecord(ORIGIN, 404, b"", 20.0)
    save_robots(store, [newer])
    assert load_robots(store, ORIGIN) == newer
    assert load_robots(store, "http://a.test") is None


class TestClaimingARobotsTxt:
    def test_falls_to_the_first_and_to_another_when_that_one_took_too_long(self, store: Store) -> None:
        assert claim_robots(store, [ORIGIN], 100.0, 30.0)
        assert claim_robots(store, ["https://b.test"], 100.0, 30.0)
        assert not claim_robots(store, [ORIGIN], 129.9, 30.0)
        assert claim_robots(store, [ORIGIN], 130.0, 30.0)
        assert not claim_robots(store, [ORIGIN], 130.0, 30.0)

    def test_gives_no_answer_yet(self, store: Store) -> None:
        claim_robots(store, [ORIGIN], 100.0, 30.0)
        assert load_robots(store, ORIGIN) is None

    def test_leaves_an_old_answer_alone(self, store: Store) -> None:
        answer = RobotsRecord(ORIGIN, 200, b"x", 100.0)
        save_robots(store, [answer])
        assert claim_robots(store, [ORIGIN], 90_000.0, 30.0)
        assert load_robots(store, ORIGIN) == answer

    def test_is_too_late_for_one_who_looked_just_before_the_answer_was_saved(self, store: Store) -> None:
        claim_robots(store, [ORIGIN], 100.0, 30.0)
        save_robots(store, [RobotsRecord(ORIGIN, 200, b"x", 101.0)])
        assert not claim_robots(store, [ORIGIN], 101.1, 30.0)

    def test_is_open_again_when_there_was_no_answer(self, store: Store) -> None:
        claim_robots(store, [ORIGIN], 100.0, 30.0)
        disclaim_robots(store, [ORIGIN])
        assert claim_robots(store, [ORIGIN], 100.5, 30.0)

    def test_by_a_clock_that_is_ahead_bars_nobody(self, store: Store) -> None:
        assert claim_robots(store, [ORIGIN], 5000.0, 30.0)
        assert claim_robots(store, [ORIGIN], 100.0, 30.0)

    def test_of_several_gives_those_that_are_free(self, store: Store) -> None:
        claim_robots(store, [ORIGIN], 100.0, 30.0)
        assert claim_robots(store, ["https://c.test", ORIGIN, "https://b.test"], 100.0, 30.0) == {
            "https://b.test",
            "https://c.test",
        }

    def test_by_many_at_once_falls_to_one(self, store: Store) -> None:
        together = threading.Barrier(4)
        claims: list[bool] = []

        def claim() -> None:
            together.wait(10)
            claims.append(bool(claim_robots(store, [ORIGIN], 100.0, 30.0)))

        threads = [threading.Thread(target=claim) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(claims) == [False, False, False, True]
