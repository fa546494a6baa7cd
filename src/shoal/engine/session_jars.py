"""The cookies of a job: a jar of its own, and one for each session of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shoal.fetch.cookie_jar import CookieJar

MOST_JARS = 1_000
"""A jar takes about 20 KB. Of more sessions only the lines are kept, of those that were used longest ago."""


class SessionJars:
    def __init__(self, fill: Callable[[CookieJar], None]) -> None:
        """`fill` adds the cookies that were given to the job."""
        self._fill = fill
        self._jars: dict[str, CookieJar] = {}
        self._parked: dict[str, list[str]] = {}
        self._changed: dict[str, None] = {}
        self._jars[""] = self._made("")

    def __getitem__(self, session: str) -> CookieJar:
        """The jar of a session; of the job itself, if it is empty."""
        jar = self._jars.pop(session, None) or self._made(session)
        # The last is the one that was used last.
        self._jars[session] = jar
        return jar

    def __iter__(self) -> Iterator[CookieJar]:
        return iter(self._jars.values())

    def add(self, origin_url: str, cookie: str) -> None:
        """Adds a cookie that was given to the job. Raises UsageError."""
        for jar in self:
            jar.add(origin_url, cookie)

    def load(self, lines: Iterable[tuple[str, str]]) -> None:
        """Cookies as (session, line), which other workers or earlier runs stored."""
        by_session: dict[str, list[str]] = {}
        for session, line in lines:
            by_session.setdefault(session, []).append(line)
        for session, found in by_session.items():
            if session in self._jars or not session:
                self[session].load(found)
            else:
                self._parked[session] = found

    def note_change(self, session: str, head_bytes: int) -> None:
        """A response of the session has set cookies."""
        self[session].unchecked_bytes += head_bytes
        self._changed[session] = None

    @property
    def is_changed(self) -> bool:
        return bool(self._changed)

    def due(self) -> list[str]:
        """The sessions whose cookies are to be stored now. They count as stored."""
        due = [session for session in self._changed if self[session].due]
        for session in due:
            del self._changed[session]
        return due

    def _made(self, session: str) -> CookieJar:
        if len(self._jars) >= MOST_JARS:
            self._park_oldest()
        jar = CookieJar()
        self._fill(jar)
        jar.load(self._parked.pop(session, []))
        return jar

    def _park_oldest(self) -> None:
        # Neither the job's own, nor one with cookies that are not stored yet: requests may be in flight.
        oldest = next((one for one in self._jars if one and one not in self._changed), None)
        if oldest is not None:
            self._parked[oldest] = self._jars.pop(oldest).lines
