"""Shows the progress of a running crawl on stderr: one live line on a terminal, a plain line every 30 s elsewhere."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.cli.humanize import count, duration, plural
from shoal.cli.session import Session
from shoal.cli.stdio import set_live_line
from shoal.model import Figures

LIVE_EVERY_S = 0.5
PLAIN_EVERY_S = 30.0
RATE_WINDOW_S = 10.0
STILL_AFTER_S = 5.0


@dataclass(slots=True)
class ProgressMeter:
    """Computes rate, ETA and error counts, and formats them as one line."""

    name: str
    pages_limit: int | None = None
    items: int = 0
    saved_items: int = 0
    """Items of the results saved so far; shown from the next look at the figures on."""
    errors: Counter[str] = field(default_factory=Counter)
    trend: str = ""
    """The rate of the last minutes as a sparkline."""
    history: deque[tuple[float, int, int]] = field(default_factory=lambda: deque(maxlen=200))
    """(time, pages and assets, found)"""

    def line(self, figures: Figures, note: str | None = None) -> str:
        """The most important parts come first, because a terminal cuts off the end. The note is before the queue, and
        while no page arrives also before the rate."""
        if not figures.pending_known:
            return "  ".join(filter(None, (f"{self.name} {plural(figures.pages, 'page')}", note, self._gathered())))
        rate, growing = self._trend(figures)
        total, done = self._extent(figures)
        about = "~" if growing else ""
        place = f"{self.name} {count(figures.pages)}/{about}{count(total)}"
        pace = f"{100 * done // max(1, total)}% {rate:.1f} p/s"
        rest = f"queue {count(figures.queued + figures.leased)}"
        rest += f" assets {count(figures.assets)}" if figures.assets else ""
        if rate > 0 and done < total:
            rest += f" ETA {about}{duration((total - done) / rate)}"
        if not note:
            parts = [f"{place} {pace} {rest}"]
        elif rate == 0:
            parts = [place, note, f"{pace} {rest}"]
        else:
            parts = [f"{place} {pace}", note, rest]
        return "  ".join(filter(None, (*parts, self._gathered())))

    @property
    def is_still(self) -> bool:
        """No page arrived for a while."""
        if not self.history:
            return False
        (began, then, _), (at, now, _) = self.history[0], self.history[-1]
        return now == then and at - began >= STILL_AFTER_S

    def _trend(self, figures: Figures) -> tuple[float, bool]:
        """Recent pages and assets per second, and whether new URLs are still being found."""
        now = time.monotonic()
        fetched = figures.pages + figures.assets
        self.history.append((now, fetched, figures.found))
        while len(self.history) > 2 and now - self.history[0][0] > RATE_WINDOW_S:
            self.history.popleft()
        began, fetched_then, found_then = self.history[0]
        rate = (fetched - fetched_then) / (now - began) if now > began else 0.0
        return rate, figures.found > found_then

    def _gathered(self) -> str:
        parts = [f"items {count(self.items)}"] if self.items else []
        parts += [f"err {count(self.errors.total())} ({self._errors()})"] if self.errors else []
        parts += [self.trend] if self.trend else []
        return " ".join(parts)

    def _extent(self, figures: Figures) -> tuple[int, int]:
        """The expected number of pages, and how many of them are done."""
        total = figures.found - figures.ended + figures.pages
        return (total if self.pages_limit is None else min(total, self.pages_limit)), figures.pages

    def _errors(self) -> str:
        return " ".join(f"{kind}x{n}" if kind.isdigit() else f"{kind} x{n}" for kind, n in self.errors.most_common(3))


def progress_record(job: str, figures: Figures, items: int, waiting: str | None) -> dict[str, Any]:
    """The progress for scripts; `found` is the sum of the figures that follow it, up to `dropped`."""
    counts = asdict(figures)
    del counts["pending_known"]
    return {"type": "progress", "job": job, **counts, "items": items, **({"waiting": waiting} if waiting else {})}


def waiting_note(waiting: str | None) -> str | None:
    """For the line, in few words: it has to fit 80 columns with the host's name."""
    return f"waiting: {waiting.removeprefix('the ')}" if waiting else None


class ProgressLine:
    """Writes the line: in place on a terminal, else as plain lines."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._drawn = False

    @property
    def every_s(self) -> float:
        return LIVE_EVERY_S if self._session.live else PLAIN_EVERY_S

    def draw(self, text: str) -> None:
        if self._session.live:
            width = shutil.get_terminal_size().columns - 1
            self._write(text if len(text) <= width else text[: width - 1] + "…")
            self._note_drawn(True)
        elif not self._session.quiet:
            self._session.say(text)

    def print_above(self, text: str) -> None:
        """A whole line that stays, also without a terminal. It is not wrapped, so that grep and awk can read it."""
        self.clear()
        with suppress(OSError):
            sys.stderr.write(f"{text}\n")

    def interrupt(self) -> None:
        """Erases the line together with the ^C that the terminal has just written, wherever that stands."""
        if self._session.live:
            self._write("")
            self._note_drawn(False)

    def clear(self) -> None:
        if self._drawn:
            self._write("")
            self._note_drawn(False)

    def _note_drawn(self, drawn: bool) -> None:
        self._drawn = drawn
        set_live_line(self.clear if drawn else None)

    def _write(self, text: str) -> None:
        # A closed terminal must not stop the crawl.
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[2K{text}")
            sys.stderr.flush()


async def until(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
