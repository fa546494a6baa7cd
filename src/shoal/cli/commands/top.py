"""`shoal top`: jobs, lanes, hosts and processes live on one screen, with keys to control them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size

import click

from shoal.cli.live_calls import READ_TIMEOUT_S
from shoal.cli.session import Command, Session
from shoal.cli.top_view import JOBS_READ, TopView
from shoal.model import JobState

EVERY_S = 1.0
WAITING_EVERY_S = 0.1
"""An answer of an API is looked for so often."""


@click.command(cls=Command)
def top(session: Session) -> None:
    """Show jobs, lanes, hosts that are held back, and processes live: state, rate, queue and what each process does.

    Keys: q quits, the arrows select a job, Enter opens it, p pauses or resumes it, s changes the order. Without a
    terminal it prints the screen once.

    \b
    shoal top
    shoal top --api https://fleet.example
    """
    session.read_timeout_s = READ_TIMEOUT_S
    with session.open_jobs() as backend:
        view = TopView(session, backend)
        if not session.live or not sys.stdin.isatty():
            notice = _once(session.say)
            view.read(notice)
            if any(job.state is JobState.RUNNING for job in view.jobs):
                # Rates are those between two looks.
                time.sleep(EVERY_S)
                view.read(notice)
            for line in view.tables(get_terminal_size().columns, JOBS_READ):
                session.show(line)
            return
        with _raw_screen() as key, suppress(KeyboardInterrupt):
            _run(view, key)


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    said: list[str] = []

    def say_first(text: str) -> None:
        if not said:
            said.append(text)
            say(text)

    return say_first


def _run(view: TopView, key: _KeyReader) -> None:
    while True:
        view.refresh()
        size = get_terminal_size()
        lines = view.screen(size.columns - 1, size.lines - 1)
        sys.stderr.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        sys.stderr.flush()
        pressed = key.within(WAITING_EVERY_S if view.is_waiting else EVERY_S)
        if pressed in ("q", "\x03", "\x1b"):
            return
        view.press(pressed)


class _KeyReader:
    def within(self, seconds: float) -> str:
        """The key pressed; empty if there was none."""
        import os
        import select

        ready, _, _ = select.select([sys.stdin.fileno()], [], [], seconds)
        return os.read(sys.stdin.fileno(), 16).decode(errors="replace") if ready else ""


@contextmanager
def _raw_screen() -> Iterator[_KeyReader]:
    """Keys come at once and are not echoed; the terminal is as before at the end."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        # The alternate screen: what stood on the terminal comes back.
        sys.stderr.write("\x1b[?1049h\x1b[?25l")
        yield _KeyReader()
    finally:
        sys.stderr.write("\x1b[?25h\x1b[?1049l")
        sys.stderr.flush()
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
