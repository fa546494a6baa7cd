"""`shoal new`: a spider or rules file to start from, drawn from a page if one is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.fetching import fetch_options, manners
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.errors import UsageError
from shoal.jobs.one_page import NO_URL, NoPage, fetch_page
from shoal.spiders.page import HTML_TYPES
from shoal.spiders.proposal import TEMPLATE, Proposal, propose
from shoal.spiders.sketch import as_python, as_rules, spider_name

ENDINGS = (".py", ".yaml", ".yml")


@click.command(cls=Command)
@click.argument("file")
@click.argument("url", required=False)
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@fetch_options
def new(session: Session, file: str, url: str | None, force: bool, **given: Any) -> None:
    """Write a working spider (FILE.py) or rules (FILE.yaml) to start from.

    With a URL that page is fetched once, and fields are proposed from what it repeats. A password in the URL is not
    written down.

    \b
    shoal new books.py https://books.toscrape.com/
    shoal new books.yaml
    """
    path = Path(file)
    _check_place(path, force)
    start, proposal = _proposed(session, url, given) if url else (NO_URL, TEMPLATE)
    write = as_python if path.suffix.lower() == ".py" else as_rules
    _write(path, write(spider_name(path.stem), start, proposal), force)
    _tell(session, file, start, proposal)
    if not session.quiet and not session.json:
        flags = [f" --{name.replace('_', '-')}" for name in ("ignore_robots", "allow_private") if given[name]]
        session.say(f"try it: shoal check {safe(file)} --url {safe(start)}{''.join(flags)}")


def _check_place(path: Path, force: bool) -> None:
    """Before anything is fetched."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: the ending says what is written: .py for a spider, .yaml for rules")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already: --force writes over it")


def _proposed(session: Session, url: str, given: dict[str, Any]) -> tuple[str, Proposal]:
    page = fetch_page(url, manners(session, given, {}))
    if not 200 <= page.status < 300:
        raise NoPage(f"{page.url} answered {page.status}: there is nothing to propose from")
    if page.content_type not in HTML_TYPES:
        raise NoPage(f"{page.url} is {page.content_type or 'of no type'}, not HTML: `shoal new FILE` writes a template")
    return page.url, propose(page)


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _tell(session: Session, file: str, start: str, proposal: Proposal) -> None:
    fields = [field.name for field in proposal.fields]
    if session.json:
        found = {"each": proposal.each, "fields": fields, "next": proposal.next_page, "details": proposal.details}
        session.data({"file": file, "start": start, **found})
    elif not session.quiet:
        source = f" from each {proposal.each}" if proposal.each else ""
        session.say(f"wrote {safe(file)}: {', '.join(fields)}{safe(source)}")
