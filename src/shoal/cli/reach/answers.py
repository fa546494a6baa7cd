"""What an API answers, as the errors that a command meets elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.errors import ApiError, ShoalError, Unavailable


@contextmanager
def translated(absent: Callable[[str], ShoalError]) -> Iterator[None]:
    """`absent` makes the error of what is not there out of the API's words."""
    try:
        yield
    except ApiError as error:
        if error.exit_code == Unavailable.exit_code:
            raise Unavailable(str(error)) from error
        if error.status == 404:
            raise absent(str(error)) from error
        raise
