"""`shoal new`: writes a spider or rules file to start from, with fields proposed from a page if a URL is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.fetch_flags import fetch_flags, fetch_options
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import UsageError
from shoal.extract.html_tags import HTML_TYPES
from shoal.jobs.fetch_one_page import NO_URL, PageUnavailable, fetch_page
from shoal.spiders.spider_template import as_python, as_rules, spider_name
from shoal.spiders.suggest_fields import TEMPLATE, Suggestion, suggest_fields

ENDINGS = (".py", ".yaml", ".yml")
NEEDED_FLAGS = ("allow_private", "ignore_robots", "insecure")
"""A crawl of the page needs them as much as this command."""


@click.command(cls=Command)
@click.argument("file")
@click.argument("url", required=False)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@fetch_flags
def new(session: Session, file: str, url: str | None, force: bool, **given: Any) -> None:
    """Create a working spider (FILE.py) or rules (FILE.yaml) to start from.

    With a URL, it fetches that page once and proposes fields from the block that the page repeats. FILE gets the flags
    that a crawl of the page needs, such as --allow-private, but no password, header or cookie.

    \b
    shoal new books.py https://books.toscrape.com/
    shoal new books.yaml
    """
    path = Path(file)
    _check_place(path, force)
    start, proposal = _proposed(session, url, given) if url else (NO_URL, TEMPLATE)
    write = as_python if path.suffix.lower() == ".py" else as_rules
    flags = [name for name in NEEDED_FLAGS if given[name]]
    _write(path, write(spider_name(path.stem), start, proposal, flags), force)
    _report(session, file, start, proposal)
    if not session.quiet and not session.json:
        session.say(f"try it: shoal check {safe(file)} --url {safe(start)}")


def _check_place(path: Path, force: bool) -> None:
    """Called before anything is fetched."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: unknown extension; use .py for a spider or .yaml for rules")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already: --force overwrites it")


def _proposed(session: Session, url: str, given: dict[str, Any]) -> tuple[str, Suggestion]:
    page = fetch_page(url, fetch_options(session, given, {}))
    if not 200 <= page.status < 300:
        raise PageUnavailable(f"{page.url} answered {page.status}: no fields can be proposed from it")
    if page.content_type not in HTML_TYPES:
        raise PageUnavailable(
            f"{page.url} has type {page.content_type or 'unknown'}, not HTML: `shoal new FILE` writes a template"
        )
    return page.url, suggest_fields(page)


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _report(session: Session, file: str, start: str, proposal: Suggestion) -> None:
    fields = [field.name for field in proposal.fields]
    if session.json:
        found = {"each": proposal.each, "fields": fields, "next": proposal.next_page, "details": proposal.details}
        session.data({"file": file, "start": start, **found})
    elif not session.quiet:
        source = f" from each {proposal.each}" if proposal.each else ""
        session.say(f"wrote {safe(file)}: {', '.join(fields)}{safe(source)}")
