"""Numbers as options take them. A value that is not one is refused in plain words, not in click's."""

from __future__ import annotations

from typing import Any

import click

from shoal.model.option import MOST, Bound


class Whole(click.ParamType[int]):
    name = "whole number"

    def __init__(self, least: float = 1, most: float = MOST) -> None:
        self._bound = Bound(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = None
        if number is None or not self._bound.holds(number):
            self.fail(f"{value!r} cannot be used: give {self._bound.wants}", param, ctx)
        return number


class Money(click.ParamType[float]):
    name = "amount"

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            amount = float(value)
        except ValueError:
            amount = -1.0
        if not self._bound.holds(amount):
            self.fail(f"{value!r} is no amount of money: give {self._bound.wants}, such as 2.5", param, ctx)
        return amount


class Share(click.FloatRange):
    name = "number"

    def __init__(self) -> None:
        super().__init__(0, 1)
