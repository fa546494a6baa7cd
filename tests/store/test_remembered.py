from __future__ import annotations

from shoal.store.remembered import RobotsRecord, load_cookies, load_robots, save_cookies, save_robots
from shoal.store.store import Store


def test_robots_are_remembered_by_origin(store: Store) -> None:
    first = RobotsRecord("https://a.test", 200, b"User-agent: *\nDisallow: /\xff\0", 10.0)
    save_robots(store, first)
    save_robots(store, RobotsRecord("https://b.test", None, b"", 11.0))
    assert load_robots(store, "https://a.test") == first
    newer = RobotsRecord("https://a.test", 404, b"", 20.0)
    save_robots(store, newer)
    assert load_robots(store, "https://a.test") == newer
    assert load_robots(store, "http://a.test") is None


def test_cookies_are_remembered_by_job(store: Store) -> None:
    save_cookies(store, "j1", ["a=1", "b=\udce9"])
    save_cookies(store, "j1", ["a=2", "b=\udce9"])
    assert load_cookies(store, "j1") == ["a=2", "b=\udce9"]
    assert load_cookies(store, "j2") == []
