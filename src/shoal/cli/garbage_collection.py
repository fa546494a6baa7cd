"""Spares the garbage collector what is imported: modules live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """For imports: to search their objects for garbage again and again takes a tenth of the start-up time. What is
    there at the end is never searched."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
