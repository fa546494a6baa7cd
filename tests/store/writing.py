"""A process that writes to a store in parallel with others: `python -m tests.store.writing PLACE WRITER`.

All writers end the same few requests again and again, each with tokens of its own, and share the keys of their items.
"""

from __future__ import annotations

import random
import sys

from shoal.store.crawl.save_batch import SKIPPED, Batch, save
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, item_record, page, redirect

WRITERS = 4
SAVES = 25
REQUESTS = 30
KEYS = 12
KINDS = ("pages", "redirects", "dead", "drops")
_OFTEN_PAGES = ("pages", "pages", "pages", *KINDS)


def kind_of(token: int) -> str:
    return random.Random(token).choice(_OFTEN_PAGES)


def batch_of(token: int) -> Batch:
    """Saves half of the requests with one outcome, in its own order."""
    chance = random.Random(token)
    kind = chance.choice(_OFTEN_PAGES)
    batch = Batch(JOB, tallies={(SKIPPED, reason): (1, None) for reason in chance.sample(["a", "b", "c"], 3)})
    for n in chance.sample(range(REQUESTS), REQUESTS // 2):
        if kind == "pages":
            keys = [f"k{chance.randrange(KEYS)}" for _ in range(3)]
            batch.pages.append(page(n, token, items=[item_record("Book", {"token": token}, key) for key in keys]))
        elif kind == "redirects":
            batch.redirects.append(redirect(n, 99, token))
        elif kind == "dead":
            batch.dead.append(dead_letter(n, token))
        else:
            batch.drops.append(drop(n, token))
    return batch


def requests_of(token: int) -> set[int]:
    return set(batch_of(token).newest())


def tokens_of(writer: int) -> list[int]:
    tokens = [1 + turn * WRITERS + writer for turn in range(SAVES)]
    random.Random(writer).shuffle(tokens)
    return tokens


def main(place: str, writer: int) -> None:
    with Store.open(place) as store:
        # No process may finish before the others begin.
        print("ready", flush=True)
        sys.stdin.readline()
        for token in tokens_of(writer):
            save(store, batch_of(token))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
