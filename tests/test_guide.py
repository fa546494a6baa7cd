"""The guide can be followed: its files and commands, in their order, print what it says."""

from __future__ import annotations

from pathlib import Path

from tests.transcript import Command, Terminal, steps

GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"


def test_every_step_of_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.follow(GUIDE)


def test_the_guide_goes_from_a_url_to_a_parquet_file() -> None:
    typed = [step.text for step in steps(GUIDE) if isinstance(step, Command)]
    commands = ["crawl", "new", "check", "items", "dead", "resume", "export"]
    assert all(any(text.startswith(f"shoal {name} ") for text in typed) for name in commands)
    assert any("-o books.parquet" in text for text in typed)
