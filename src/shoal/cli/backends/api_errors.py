"""Translates error responses of the API into the errors that local backends raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.errors import ApiError, ShoalError, Unavailable


@contextmanager
def as_shoal_errors(absent: Callable[[str], ShoalError]) -> Iterator[None]:
    """`absent` makes the error for a 404 from the API's message."""
    try:
        yield
    except ApiError as error:
        if error.exit_code == Unavailable.exit_code:
            raise Unavailable(str(error)) from error
        if error.status == 404:
            raise absent(str(error)) from error
        raise
