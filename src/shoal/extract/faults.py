"""What extraction raises on purpose, of selectors that cannot work and pages or texts that cannot be read."""

from __future__ import annotations

from shoal.errors import ShoalError, UsageError


class BadSelector(UsageError):
    """`column` counts from 1; where the parser does not say, it is the end of what can be read."""

    def __init__(self, text: str, column: int, why: str) -> None:
        super().__init__(f"selector {text!r}, column {column}: {why}")
        self.text = text
        self.column = column
        self.why = why


class TwistedPage(ShoalError):
    """A page whose tree would cost far more than its size."""

    def __init__(self, url: str, bound: str) -> None:
        super().__init__(f"the page {url} was not parsed: {bound}")
        self.url = url
        self.bound = bound


class CastError(ShoalError):
    """A text that does not spell a value of the wanted kind."""

    def __init__(self, text: str, to: str, why: str) -> None:
        super().__init__(f"{_shown(text)} is no {to}: {why}")
        self.text = text
        self.to = to
        self.why = why


class BadJson(ShoalError):
    """A body or path that is no JSON, or nested too deep to be read."""


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
