"""The options that go with -o. What they mean is in `output_file.py`, which only commands with -o load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from shoal.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

PROVENANCE = click.option("--provenance", is_flag=True, help="Add URL, time, job and spider version to each item.")
"""For commands whose job has it no longer as an option."""
_OPTIONS = (
    click.option("--overwrite", is_flag=True, help="Replace FILE if it exists."),
    click.option("--append", is_flag=True, help="Add to FILE if it exists: .jsonl or .csv, also compressed."),
    click.option("--fields", metavar="NAME,…", help="Write these columns, in this order."),
    click.option(
        "--partition", metavar="FIELD", help="Divide a dataset (-o DIR/) by this field instead of the day of the fetch."
    ),
)


def output_options(function: F) -> F:
    """The options that go with -o."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class OutputFlags(NamedTuple):
    """As typed."""

    overwrite: bool = False
    append: bool = False
    fields: str | None = None
    provenance: bool = False
    partition: str | None = None

    def check_used(self, output: str | None) -> None:
        """Raises UsageError if one of them is given without a file."""
        for name, value in self._asdict().items():
            if value and output is None:
                raise UsageError(f"--{name} is about the file of -o: give -o FILE, or leave it out")
