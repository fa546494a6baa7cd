from __future__ import annotations

import threading

from shoal.store.remembered import (
    RobotsRecord,
    claim_robots,
    disclaim_robots,
    forget_cookies,
    load_cookies,
    load_robots,
    save_cookies,
    save_robots,
)
from shoal.store.store import Store

ORIGIN = "https://a.test"


def cookie(name: str, value: str, domain: str = "a.test", path: str = "/") -> str:
    return "\t".join((domain, "FALSE", path, "FALSE", "0", name, value))


def test_robots_are_remembered_by_origin(store: Store) -> None:
    first = RobotsRecord(ORIGIN, 200, b"User-agent: *\nDisallow: /\xff\0", 10.0)
    save_robots(store, first)
    save_robots(store, RobotsRecord("https://b.test", None, b"", 11.0))
    assert load_robots(store, ORIGIN) == first
    newer = RobotsRecord(ORIGIN, 404, b"", 20.0)
    save_robots(store, newer)
    assert load_robots(store, ORIGIN) == newer
    assert load_robots(store, "http://a.test") is None


class TestClaimingARobotsTxt:
    def test_falls_to_the_first_and_to_another_when_that_one_took_too_long(self, store: Store) -> None:
        assert claim_robots(store, ORIGIN, 100.0, 30.0)
        assert claim_robots(store, "https://b.test", 100.0, 30.0)
        assert not claim_robots(store, ORIGIN, 129.9, 30.0)
        assert claim_robots(store, ORIGIN, 130.0, 30.0)
        assert not claim_robots(store, ORIGIN, 130.0, 30.0)

    def test_gives_no_answer_yet(self, store: Store) -> None:
        claim_robots(store, ORIGIN, 100.0, 30.0)
        assert load_robots(store, ORIGIN) is None

    def test_leaves_an_old_answer_alone(self, store: Store) -> None:
        answer = RobotsRecord(ORIGIN, 200, b"x", 100.0)
        save_robots(store, answer)
        assert claim_robots(store, ORIGIN, 90_000.0, 30.0)
        assert load_robots(store, ORIGIN) == answer

    def test_is_too_late_for_one_who_looked_just_before_the_answer_was_saved(self, store: Store) -> None:
        claim_robots(store, ORIGIN, 100.0, 30.0)
        save_robots(store, RobotsRecord(ORIGIN, 200, b"x", 101.0))
        assert not claim_robots(store, ORIGIN, 101.1, 30.0)

    def test_is_open_again_when_there_was_no_answer(self, store: Store) -> None:
        claim_robots(store, ORIGIN, 100.0, 30.0)
        disclaim_robots(store, ORIGIN)
        assert claim_robots(store, ORIGIN, 100.5, 30.0)

    def test_by_a_clock_that_is_ahead_bars_nobody(self, store: Store) -> None:
        assert claim_robots(store, ORIGIN, 5000.0, 30.0)
        assert claim_robots(store, ORIGIN, 100.0, 30.0)

    def test_by_many_at_once_falls_to_one(self, store: Store) -> None:
        together = threading.Barrier(4)
        claims: list[bool] = []

        def claim() -> None:
            together.wait(10)
            claims.append(claim_robots(store, ORIGIN, 100.0, 30.0))

        threads = [threading.Thread(target=claim) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(claims) == [False, False, False, True]


class TestCookies:
    def test_are_remembered_by_job_one_by_one(self, store: Store) -> None:
        save_cookies(store, "j1", [cookie("b", "1"), cookie("a", "caf\xe9")])
        save_cookies(store, "j1", [cookie("b", "2"), cookie("b", "3", path="/x"), cookie("b", "4", domain=".a.test")])
        assert load_cookies(store, "j1") == [
            cookie("b", "4", domain=".a.test"),
            cookie("a", "caf\xe9"),
            cookie("b", "2"),
            cookie("b", "3", path="/x"),
        ]
        assert load_cookies(store, "j2") == []

    def test_are_forgotten_by_domain_path_and_name(self, store: Store) -> None:
        kept = [cookie("a", "1", path="/x"), cookie("b", "2", domain=".a.test")]
        save_cookies(store, "j1", [*kept, cookie("a", "3"), cookie("b", "4")])
        save_cookies(store, "j2", [cookie("a", "5")])
        forget_cookies(store, "j1", [("a.test", "/", "b"), ("a.test", "/", "a"), ("a.test", "/", "never")])
        assert set(load_cookies(store, "j1")) == set(kept)
        assert load_cookies(store, "j2") == [cookie("a", "5")]

    def test_one_that_scripts_may_not_read_is_the_same_cookie(self, store: Store) -> None:
        save_cookies(store, "j1", [cookie("a", "1")])
        save_cookies(store, "j1", [cookie("a", "2", domain="#HttpOnly_a.test")])
        assert load_cookies(store, "j1") == [cookie("a", "2", domain="#HttpOnly_a.test")]

    def test_of_one_that_changed_twice_the_last_stands(self, store: Store) -> None:
        save_cookies(store, "j1", [cookie("a", "1"), cookie("a", "2")])
        assert load_cookies(store, "j1") == [cookie("a", "2")]
