"""Lists dead letters, and deletes those that are to be tried again.

Offer the requests of a list to the frontier before you delete its letters. If the process dies in between, the next
one offers them again, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, select, tuple_

from shoal.model import DeadLetter
from shoal.store.crawl.failed_attempts import FAILED, failure_key
from shoal.store.results.listings import Where, conditions
from shoal.store.store import Store
from shoal.store.tables import dead, tallies

_CHUNK = 500


def dead_letters(store: Store, job: str, where: Where) -> Iterator[list[DeadLetter]]:
    """Yields lists of letters and reads each list on demand, so that the caller may write to the store in between."""
    wanted = select(dead).where(*conditions(dead, job, where)).order_by(dead.c.fingerprint).limit(_CHUNK)
    after = None
    while True:
        with store.read() as db:
            rows = db.execute(wanted if after is None else wanted.where(dead.c.fingerprint > after)).all()
        if not rows:
            return
        after = rows[-1].fingerprint
        yield [DeadLetter(**row._mapping) for row in rows]


def forget_dead(store: Store, letters: Sequence[DeadLetter]) -> None:
    """Deletes these letters and the count of failures like theirs; a new failure starts a new count.

    Keeps a letter whose request has died again since it was read.
    """
    keys = [(letter.job, letter.fingerprint, letter.token) for letter in letters]
    groups = {(letter.job, FAILED, failure_key(letter.reason, letter.status, letter.host)) for letter in letters}

    def forget(db: Connection) -> None:
        db.execute(delete(dead).where(tuple_(dead.c.job, dead.c.fingerprint, dead.c.token).in_(keys)))
        db.execute(delete(tallies).where(tuple_(tallies.c.job, tallies.c.kind, tallies.c.key).in_(groups)))

    store.change(forget)
