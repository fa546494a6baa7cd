"""Exceptions of extraction: invalid selectors, and pages or texts that cannot be read."""

from __future__ import annotations

from shoal.errors import ShoalError, UsageError


class BadSelector(UsageError):
    """`column` counts from 1. If the parser gives no position, it is the end of the valid part."""

    def __init__(self, text: str, column: int, why: str) -> None:
        super().__init__(f"selector {text!r}, column {column}: {why}")
        self.text = text
        self.column = column
        self.why = why


class UnparsablePage(ShoalError):
    """Parsing the page would take far more time or memory than its size justifies."""

    def __init__(self, url: str, bound: str) -> None:
        super().__init__(f"the page {url} was not parsed: {bound}")
        self.url = url
        self.bound = bound


class CastError(ShoalError):
    """The text is not a value of the wanted type."""

    def __init__(self, text: str, to: str, why: str) -> None:
        super().__init__(f"{_shown(text)} is no {to}: {why}")
        self.text = text
        self.to = to
        self.why = why


class BadJson(ShoalError):
    """The body or path is not JSON, or is nested too deeply."""


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
