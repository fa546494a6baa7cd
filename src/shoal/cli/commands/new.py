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
@click.option("--from-scrapy", metavar="SPIDER.py", help="Draft FILE.py from a spider of Scrapy.")
@click.option("--spider", metavar="NAME", help="Which spider of SPIDER.py, if it has several.")
@fetch_flags
def new(
    session: Session,
    file: str,
    url: str | None,
    force: bool,
    from_scrapy: str | None,
    spider: str | None,
    **given: Any,
) -> None:
    """Create a working spider (FILE.py) or rules (FILE.yaml) to start from.

    With a URL, it fetches that page once and proposes fields from the block that the page repeats. FILE gets the flags
    that a crawl of the page needs, such as --allow-private, but no password, header or cookie.

    With --from-scrapy it translates a spider of Scrapy. It only reads the source, and imports nothing of it. What has
    no equivalent stays in FILE as a comment, and is listed with its line.

    \b
    shoal new books.py https://books.toscrape.com/
    shoal new books.yaml
    shoal new books.py --from-scrapy crawlers/spiders/books.py
    """
    path = Path(file)
    _check_place(path, force)
    flags = [name for name in NEEDED_FLAGS if given[name]]
    if from_scrapy is not None:
        _check_draft(path, url)
        return _draft(session, path, Path(from_scrapy), spider, flags, force)
    if spider is not None:
        raise UsageError("--spider is for --from-scrapy: it names a spider of SPIDER.py")
    start, proposal = _proposed(session, url, given) if url else (NO_URL, TEMPLATE)
    write = as_python if path.suffix.lower() == ".py" else as_rules
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


def _check_draft(path: Path, url: str | None) -> None:
    if path.suffix.lower() != ".py":
        raise UsageError(f"{path}: a spider of Scrapy becomes a spider in Python: name a .py file")
    if url is not None:
        raise UsageError(f"{url!r}: a spider of Scrapy has its own start URLs: leave the URL out")


def _draft(session: Session, path: Path, original: Path, name: str | None, flags: list[str], force: bool) -> None:
    # Only here: no other use of this command reads Python.
    from shoal.spiders.from_scrapy import draft, spiders_in

    try:
        source = original.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{original} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    found = spiders_in(source, original.name)
    names = [one.name for one in found]
    if name is not None and name not in names:
        raise UsageError(f"{original} has no spider {name!r}: it has {', '.join(names)}")
    made = draft(found[names.index(name) if name is not None else 0], source, original.name, flags)
    _write(path, made.text, force)
    if session.json:
        notes = [{"line": note.line, "reason": note.text} for note in made.notes]
        session.data({"file": str(path), "spider": made.spider, "start": made.start, "untranslated": notes})
    elif not session.quiet:
        session.say(f"wrote {safe(str(path))}: spider {safe(made.spider)}")
        for note in made.notes:
            session.say(safe(f"{original}:{note.line}: not translated: {note.text}"))
        if name is None and len(names) > 1:
            session.say(safe(f"{original} has more spiders: --spider {' or '.join(names[1:])}"))
        session.say(f"try it: shoal check {safe(str(path))} --url {safe(made.start[0] if made.start else NO_URL)}")


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
