"""Standard input, output and error as a shell hands them over: some may be closed, and whoever reads may leave."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_what_is_closed() -> None:
    """After `>&-` the next file that is opened would have the stream's number, and be written to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as the process runs


def drop_output() -> None:
    """What is still to be written would fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def until_unread() -> Iterator[None]:
    """Ends quietly when whoever read the output has had enough, as `head` does; what comes after is dropped."""
    try:
        yield
    except BrokenPipeError:
        drop_output()
