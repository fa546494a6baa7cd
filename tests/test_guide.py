"""The guide can be followed: its files and commands, in their order, print what it says; the README's spider too."""

from __future__ import annotations

import re
from pathlib import Path

from shoal.practice import Shop, running
from tests.cli.conftest import Shell
from tests.transcript import PORT, Command, Terminal, steps

README = Path(__file__).parents[1] / "README.md"
GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"


def test_every_step_of_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.follow(GUIDE)


def test_the_guide_goes_from_a_url_to_a_parquet_file() -> None:
    typed = [step.text for step in steps(GUIDE) if isinstance(step, Command)]
    commands = ["crawl", "new", "check", "items", "dead", "resume", "export"]
    assert all(any(text.startswith(f"shoal {name} ") for text in typed) for name in commands)
    assert any("-o books.parquet" in text for text in typed)


def test_the_spider_of_the_readme_finds_what_it_says(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```python\n(.+?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    shoal = Shell(tmp_path)
    with running(Shop(hosts=1)) as site:
        (tmp_path / "books.py").write_text(text.replace(PORT, str(site.port)))
        ran = shoal("crawl", "books.py", "-o", "books.parquet")
    quality = re.search(r"Book: 12 items\n(?:  .+\n){3}", ran.err)
    assert ran.code == 0 and quality and quality[0] in README.read_text()
