from __future__ import annotations

from shoal.store.crawl.job_cookies import forget_cookies, load_cookies, save_cookies
from shoal.store.store import Store


def lines(store: Store, job: str, of: str = "") -> list[str]:
    return [line for session, line in load_cookies(store, job) if session == of]


def cookie(name: str, value: str, domain: str = "a.test", path: str = "/") -> str:
    return "\t".join((domain, "FALSE", path, "FALSE", "0", name, value))


class TestCookies:
    def test_are_remembered_by_job_one_by_one(self, store: Store) -> None:
        save_cookies(store, "j1", {"": [cookie("b", "1"), cookie("a", "caf\xe9")]})
        changed = [cookie("b", "2"), cookie("b", "3", path="/x"), cookie("b", "4", domain=".a.test")]
        save_cookies(store, "j1", {"": changed})
        assert lines(store, "j1") == [
            cookie("b", "4", domain=".a.test"),
            cookie("a", "caf\xe9"),
            cookie("b", "2"),
            cookie("b", "3", path="/x"),
        ]
        assert lines(store, "j2") == []

    def test_are_forgotten_by_domain_path_and_name(self, store: Store) -> None:
        kept = [cookie("a", "1", path="/x"), cookie("b", "2", domain=".a.test")]
        save_cookies(store, "j1", {"": [*kept, cookie("a", "3"), cookie("b", "4")]})
        save_cookies(store, "j2", {"": [cookie("a", "5")]})
        forget_cookies(store, "j1", {"": [("a.test", "/", "b"), ("a.test", "/", "a"), ("a.test", "/", "never")]})
        assert set(lines(store, "j1")) == set(kept)
        assert lines(store, "j2") == [cookie("a", "5")]

    def test_one_that_scripts_may_not_read_is_the_same_cookie(self, store: Store) -> None:
        save_cookies(store, "j1", {"": [cookie("a", "1")]})
        save_cookies(store, "j1", {"": [cookie("a", "2", domain="#HttpOnly_a.test")]})
        assert lines(store, "j1") == [cookie("a", "2", domain="#HttpOnly_a.test")]

    def test_of_one_that_changed_twice_the_last_stands(self, store: Store) -> None:
        save_cookies(store, "j1", {"": [cookie("a", "1"), cookie("a", "2")]})
        assert lines(store, "j1") == [cookie("a", "2")]

    def test_a_session_has_cookies_of_its_own(self, store: Store) -> None:
        save_cookies(store, "j1", {"": [cookie("a", "1")]})
        of_bob = [cookie("a", "4"), cookie("b", "5"), cookie("c", "6")]
        save_cookies(store, "j1", {"bob": of_bob, "ann": [cookie("a", "2"), cookie("b", "3")]})
        forget_cookies(
            store, "j1", {"ann": [("a.test", "/", "b")], "bob": [("a.test", "/", "b"), ("a.test", "/", "c")]}
        )
        found = [("", cookie("a", "1")), ("ann", cookie("a", "2")), ("bob", cookie("a", "4"))]
        assert load_cookies(store, "j1") == found
