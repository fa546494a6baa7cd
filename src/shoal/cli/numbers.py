"""Numbers as options take them; what is none is told in a person's words and not in click's."""

from __future__ import annotations

from typing import Any

import click

_MOST = 10**15
"""More than there is of anything, and every server can count to it."""


class Whole(click.ParamType[int]):
    name = "whole number"

    def __init__(self, least: int = 1, most: int = _MOST) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = None
        if number is None or not self._least <= number <= self._most:
            most = "10^15" if self._most == _MOST else f"{self._most:,}"
            self.fail(f"{value!r} cannot be used: give a whole number from {self._least:,} to {most}", param, ctx)
        return number


class Share(click.FloatRange):
    name = "number"

    def __init__(self) -> None:
        super().__init__(0, 1)
