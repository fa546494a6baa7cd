from __future__ import annotations

from shoal.store.store import Store
from shoal.store.waiting import add_waiting, remove_waiting, waiting


def offers(store: Store, job: str, most: int = 10) -> list[str]:
    return [row.offer for row in waiting(store, job, most)]


def test_what_has_waited_longest_comes_first_and_no_more_than_asked_for(store: Store) -> None:
    add_waiting(store, [("j1", "a"), ("j2", "other"), ("j1", "b"), ("j1", "c")])
    assert offers(store, "j1", 2) == ["a", "b"]
    assert offers(store, "j2") == ["other"]


def test_what_was_not_taken_goes_on_waiting_behind_the_others(store: Store) -> None:
    add_waiting(store, [("j1", "a"), ("j1", "b")])
    remove_waiting(store, "j1", waiting(store, "j1", 1)[0].id, ["rest of a"])
    assert offers(store, "j1") == ["b", "rest of a"]
    for row in waiting(store, "j1", 10):
        remove_waiting(store, "j1", row.id, [])
    assert offers(store, "j1") == []
