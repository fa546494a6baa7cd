"""Numbers as options take them; what is none is told in a person's words and not in click's."""

from __future__ import annotations

import click


class Whole(click.IntRange):
    name = "whole number"


class Share(click.FloatRange):
    name = "number"

    def __init__(self) -> None:
        super().__init__(0, 1)
