from __future__ import annotations

from shoal.store.crawl.overflow import add_overflow, overflow_offers, remove_overflow
from shoal.store.store import Store


def offers(store: Store, job: str, most: int = 10) -> list[str]:
    return [row.offer for row in overflow_offers(store, job, most)]


def test_the_oldest_offers_come_first_up_to_the_limit(store: Store) -> None:
    add_overflow(store, [("j1", "a"), ("j2", "other"), ("j1", "b"), ("j1", "c")])
    assert offers(store, "j1", 2) == ["a", "b"]
    assert offers(store, "j2") == ["other"]


def test_links_that_were_not_taken_wait_at_the_end(store: Store) -> None:
    add_overflow(store, [("j1", "a"), ("j1", "b")])
    remove_overflow(store, "j1", overflow_offers(store, "j1", 1)[0].id, ["rest of a"])
    assert offers(store, "j1") == ["b", "rest of a"]
    for row in overflow_offers(store, "j1", 10):
        remove_overflow(store, "j1", row.id, [])
    assert offers(store, "j1") == []
