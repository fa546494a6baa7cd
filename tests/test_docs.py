"""The reference tells of every command, option and setting there is, and what the docs name and link to is there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from shoal.cli import COMMANDS, shoal
from shoal.cli.session import OPTIONS
from shoal.fleet.celery_config import configuration
from shoal.settings import NAMES, Settings
from tests.docs_site import JOINED
from tests.options_page import page

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
EXAMPLES = {
    "./pyproject.toml",
    "./shoal.toml",
    "config.toml",
    "books.py",
    "shop.py",
    "crawl.py",
    "shoal.toml",
    "limited.py",
}
"""Files of a reader's own."""
PAGES = sorted([*ROOT.glob("*.md"), *(page for room in ("docs", "examples") for page in (ROOT / room).rglob("*.md"))])


def commands() -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(shoal)
    for name in COMMANDS:
        command = shoal.get_command(ctx, name)
        assert command is not None
        yield f"shoal {name}", command
        if isinstance(command, click.Group):
            yield from ((f"shoal {name} {part}", below) for part, below in command.commands.items())


def sections() -> dict[str, str]:
    """By heading, the text up to the next heading."""
    _, *parts = re.split(r"^#+ (.+)$", (REFERENCE / "cli.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def names(params: list[click.Parameter]) -> set[str]:
    options = [param for param in params if isinstance(param, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}


def missing(wanted: set[str], text: str) -> list[str]:
    return sorted(name for name in wanted if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


@pytest.mark.parametrize(("title", "command"), list(commands()))
def test_the_reference_has_a_section_with_every_option_and_an_example(title: str, command: click.Command) -> None:
    section = sections().get(title, "")
    own = names([param for param in command.params if param not in OPTIONS])
    assert not missing(own, section), f"docs/reference/cli.md, section {title!r}"
    assert f"Usage: {title}" in section
    if not isinstance(command, click.Group):
        assert f"$ {title}" in section


@pytest.mark.parametrize("title", ["shoal crawl", "shoal submit", "shoal schedule add", "shoal resume"])
def test_the_reference_shows_the_options_of_a_job_as_help_does(title: str) -> None:
    command = dict(commands())[title]
    shown = command.get_help(click.Context(command, info_name=title, terminal_width=78))
    own = shown[shown.index("Options:\n") : shown.index("\nGlobal options:")]
    assert own in sections()[title]


def test_the_reference_names_every_global_option() -> None:
    assert not missing(names(shoal.params), sections()["Global options"])


def test_every_command_explains_itself_with_an_example() -> None:
    without = [title for title, command in commands() if f"{title} " not in f"{command.help} ".replace("\n", " ")]
    assert not without


def test_the_page_of_options_is_made_from_the_table() -> None:
    committed = (REFERENCE / "options.md").read_text()
    assert committed == page(), "write it again: python -m tests.options_page > docs/reference/options.md"


def test_the_reference_names_every_setting_and_its_variable() -> None:
    text = (REFERENCE / "settings.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, flags=re.MULTILINE))
    assert rows == {name: f"SHOAL_{name.upper()}" for name in NAMES}


def test_the_example_of_config_show_has_every_setting() -> None:
    assert re.findall(r"^(\w+) +default  ", sections()["shoal config show"], flags=re.MULTILINE) == list(NAMES)


def test_the_reference_has_no_unknown_command() -> None:
    assert {title for title in sections() if title.startswith("shoal ")} == {title for title, _ in commands()}


def test_every_setting_of_celery_is_given_with_its_reason() -> None:
    given = configuration(Settings(ROOT, "redis://localhost:6379/0", "redis://localhost:6379/1"))
    text = (ROOT / "docs" / "internals" / "celery.md").read_text()
    assert not [name for name in (*given, *given["broker_transport_options"]) if f"`{name}`" not in text]


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_an_existing_page_and_heading(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", without_blocks(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        there = page.parent / path if path else page
        assert there.exists() and (not anchor or anchor in anchors(there)), link


def files_named(text: str) -> set[str]:
    """Paths and bare names of files in code marks, as in `engine/engine.py`, `spool.py` or `lua/lease.lua:40`."""
    return {
        name for name in re.findall(r"`([\w./-]+\.(?:py|lua|sh|toml|yml|css))(?::[^`]*)?`", text) if "*" not in name
    }


def has_file(name: str, files: Sequence[str]) -> bool:
    return any(f"/{file}".endswith(f"/{name}") for file in files)


def test_every_file_that_the_docs_name_is_there() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    named = {(page.name, name) for page in PAGES for name in files_named(page.read_text())}
    assert len(named) > 150
    assert sorted((page, name) for page, name in named if not has_file(name, files) and name not in EXAMPLES) == []


def test_every_test_that_the_security_page_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "security.md").read_text()))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_page_has_a_place_in_the_navigation_of_the_site() -> None:
    config = (ROOT / "mkdocs.yml").read_text()
    named = set(re.findall(r"^ +- ([\w/-]+\.md)$", config, flags=re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert named == pages | set(JOINED.values()), "list the page in mkdocs.yml, under `nav`"
