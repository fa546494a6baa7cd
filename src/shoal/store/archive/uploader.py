"""Uploads sealed segments to a bucket, in a thread of its own: a slow bucket delays no page, and a bucket that is away
delays the crawl only when the spools of the machine are full.

A segment's local files are removed after the bucket and the store's table have it. So a kill at any point leaves files
that another process uploads again, under the same name and with the same bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from shoal.errors import ObjectStoreAway, ObjectStoreRefused, Unavailable
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spool import SEALED
from shoal.store.archive.spool_listing import files_in, folders_in, segments_in
from shoal.store.archive.spool_transfer import adopt, store_sealed
from shoal.store.archive.stored_segments import FILES
from shoal.store.store import Store

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0


class Uploader:
    def __init__(self, archive: Archive, process: str) -> None:
        self._archive = archive
        self._folder = archive.spools / process
        self._changed = threading.Condition()
        self._asked = 0
        """How many times somebody asked for an upload; `_done` is the last of them that was fulfilled."""
        self._done = 0
        self._error: Unavailable | None = None
        self._crash: BaseException | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._waiting_bytes = 0

    @property
    def error(self) -> Unavailable | None:
        """Why the last upload failed."""
        return self._error

    @property
    def waiting_bytes(self) -> int:
        """How much waits in the spools of this machine, when it was last measured."""
        return self._waiting_bytes

    def wake(self, store: Store) -> int:
        """Uploads what is sealed by now, and what dead processes of this machine left. Returns the number of the
        request."""
        with self._changed:
            if self._crash is not None:
                raise self._crash
            self._measure()
            self._asked += 1
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=[store], name="upload", daemon=True)
                self._thread.start()
            return self._asked

    def check_room(self, store: Store) -> None:
        """Raises Unavailable if as much waits as may."""
        if self._waiting_bytes > self._archive.spool_bytes:
            self.wake(store)
            if self._waiting_bytes > self._archive.spool_bytes:
                raise self._behind()

    def drain(self, store: Store, within_s: float) -> None:
        """Raises Unavailable if something still waits after this time."""
        asked = self.wake(store)
        with self._changed:
            self._changed.wait_for(lambda: self._done >= asked or self._crash is not None, within_s)
            if self._crash is not None:
                raise self._crash
            if self._done < asked:
                raise self._behind()

    def close(self) -> None:
        """Does not wait for a transfer: whoever adopts the spool repeats it."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()

    def _run(self, store: Store) -> None:
        try:
            self._upload_when_asked(store)
        except BaseException as crash:
            # Raised where a save waits for the upload.
            with self._changed:
                self._crash = crash
                self._changed.notify_all()

    def _upload_when_asked(self, store: Store) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._wait_for_request():
            asked = self._asked
            try:
                self._upload(store)
            except Unavailable as error:
                self._set(error)
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                pause_s = _FIRST_PAUSE_S
                self._set(None, asked)

    def _wait_for_request(self) -> bool:
        """False: the process ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing.is_set() or self._asked > self._done)
            return not self._closing.is_set()

    def _upload(self, store: Store) -> None:
        store_sealed(store, self._archive, self._folder)
        adopt(store, self._archive)

    def _set(self, error: Unavailable | None, done: int = 0) -> None:
        with self._changed:
            self._error = error
            self._done = max(self._done, done)
            self._measure()
            self._changed.notify_all()

    def _measure(self) -> None:
        # The last figure stays if the spool cannot be listed: the upload fails then too, and says why.
        with suppress(Unavailable):
            self._waiting_bytes = sum(sizes_of(self._archive.spools))

    def _behind(self) -> Unavailable:
        if isinstance(self._error, ObjectStoreRefused):
            return self._error
        waiting = f"{max(1, round(self._waiting_bytes / 1e6)):,} MB wait for {self._archive.stored.url}"
        return ObjectStoreAway(f"{waiting}: {self._error}" if self._error else waiting)


def sizes_of(spools: Path) -> Iterator[int]:
    """The sizes of all sealed segments and files in the spools of a machine. Raises Unavailable."""
    for folder in folders_in(spools):
        for file in chain(segments_in(folder, SEALED), files_in(folder / FILES)):
            try:
                yield file.stat().st_size
            except FileNotFoundError:
                # Uploaded and removed at this moment.
                continue
