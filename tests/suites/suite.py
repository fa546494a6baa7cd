"""What a suite of another project gives: how many of its cases agree, and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Result:
    agreed: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.agreed + len(self.differences)

    def note(self, is_equal: bool, case: str) -> None:
        if is_equal:
            self.agreed += 1
        else:
            self.differences.append(case)


@dataclass(frozen=True)
class Suite:
    name: str
    source: str
    """The repository whose checkout has the cases."""
    run: Callable[[Path], Result]
    least: int
    """How many cases agreed when it was last run. docs/conformance.md says why others differ."""
