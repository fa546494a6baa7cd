"""Trying dead letters again.

Offer the requests of a list of letters to the frontier first and forget the letters then: whoever dies in
between offers them once more, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, select, tuple_

from shoal.model import DeadLetter
from shoal.store.batch import FAILED, failure_key
from shoal.store.records import Where, conditions
from shoal.store.store import Store
from shoal.store.tables import dead, tallies

_CHUNK = 500


def dead_letters(store: Store, job: str, where: Where) -> Iterator[list[DeadLetter]]:
    """Some at a time, each list read when it is asked for, so that the store may be written in between."""
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
    """Removes these letters, and the count of failures like theirs: what fails again is counted anew.

    One whose request has died anew since it was read stays.
    """
    keys = [(letter.job, letter.fingerprint, letter.token) for letter in letters]
    groups = {(letter.job, FAILED, failure_key(letter.reason, letter.status, letter.host)) for letter in letters}

    def forget(db: Connection) -> None:
        db.execute(delete(dead).where(tuple_(dead.c.job, dead.c.fingerprint, dead.c.token).in_(keys)))
        db.execute(delete(tallies).where(tuple_(tallies.c.job, tallies.c.kind, tallies.c.key).in_(groups)))

    store.change(forget)
