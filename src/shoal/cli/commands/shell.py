"""`shoal shell`: opens a Python prompt with one page, to try selectors on it."""

from __future__ import annotations

import ast
import code
import re
import sys
import textwrap
import traceback
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urljoin

import click

from shoal.cli.fetch_flags import fetch_flags, fetch_options
from shoal.cli.humanize import size
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.cli.view_in_browser import view_in_browser
from shoal.errors import ShoalError, UsageError
from shoal.extract.document import Node
from shoal.fetch.charset import to_utf8
from shoal.jobs.fetch_one_page import FetchOptions, fetch_page, open_page
from shoal.jobs.try_on_page import markdown_of, select_values
from shoal.model import PageRecord, fingerprint_hex
from shoal.spiders.field_selectors import JsonData, pick
from shoal.spiders.missing_file_check import check_is_no_file
from shoal.spiders.page import Page

Names = dict[str, Any]
_PLACE = "-c"
_NOT_IN_NAMES = re.compile(r"[.:/]")
"""A word without them is the name or id of a job rather than a host."""
_HELP = 'page  css("h1")  xpath("//h1")  json("$.name")  fetch(url)  text()  view()  exit()'


@click.command(cls=Command)
@click.argument("source", metavar="URL|FILE|JOB")
@click.argument("url", required=False)
@click.option("-c", "--code", "given_code", metavar="CODE", help="Run CODE instead of a prompt, and print its value.")
@fetch_flags
def shell(session: Session, source: str, url: str | None, given_code: str | None, **given: Any) -> None:
    """Fetch the page at URL once, or open FILE, and try selectors on it at a Python prompt.

    With JOB and URL it opens the page as that job archived it, without fetching. The prompt has page; css(selector),
    xpath(selector) and json(path), which return lists of values; fetch(url), which fetches another page; text(), which
    prints the page as text; and view(), which opens it in your browser.

    \b
    shoal shell https://example.com/
    shoal shell page.html -c 'css("h3 a::attr(title)")'
    shoal shell last https://example.com/about
    """
    options = fetch_options(session, given, {})
    page = _page(source, options) if url is None else _archived_page(session, source, url)
    names = _names(page, options)
    if given_code is not None:
        _run(session, given_code, names)
        return
    session.say(_described(page))
    session.say(_HELP)
    _interact(names)


def _page(source: str, options: FetchOptions) -> Page:
    if "://" not in source and Path(source).is_file():
        return open_page(source)
    check_is_no_file(source)
    if not _NOT_IN_NAMES.search(source) and source != "localhost":
        raise UsageError(f"{source!r} is not a URL; for a page of a job give its URL, too: `shoal shell {source} URL`")
    return fetch_page(source, options)


def _archived_page(session: Session, job: str, url: str) -> Page:
    """The page of this URL, or the one that it redirected to."""
    with session.open_jobs() as backend:
        found = backend.find(job)
        explained = found.explain(url)
        page = next((one for one in (explained.record, *explained.hops) if isinstance(one, PageRecord)), None)
        if page is None:
            why = session.command("explain", found.job.id, quote(explained.spelt))
            raise UsageError(f"job {found.job.id} has no page {safe(explained.spelt)}: `{why}` says why")
        body = found.body(fingerprint_hex(page.fingerprint))
    status = 200 if page.status == 304 else page.status
    return Page(page.url, body, status, content_type=page.content_type, html=to_utf8(body, page.content_type))


def _names(first: Page, options: FetchOptions) -> Names:
    """They act on the page that was fetched last."""
    names: Names = {"page": first}

    def css(selector: str) -> list[Any]:
        return select_values("css", selector, names["page"])

    def xpath(selector: str) -> list[Any]:
        return select_values("xpath", selector, names["page"])

    def json(path: str = "$") -> list[Any]:
        return pick("jsonpath", path).values(JsonData(names["page"].data))

    def fetch(url: str) -> Page:
        names["page"] = page = fetch_page(urljoin(names["page"].base_url, url), options)
        return page

    def text() -> None:
        click.echo(_as_text(names["page"]))

    def view() -> None:
        path, opened = view_in_browser(names["page"])
        click.echo(f"{'opened in your browser' if opened else 'no browser found; open it yourself'}: {path}", err=True)

    names |= {"css": css, "xpath": xpath, "json": json, "fetch": fetch, "text": text, "view": view}
    return names


def _as_text(page: Page) -> str:
    """Markdown if its extra is installed, else plain text."""

    if "json" in page.content_type:
        import json

        return json.dumps(page.data, indent=2, ensure_ascii=False, default=str)
    text = markdown_of(page) or textwrap.fill(page.text)
    return "\n".join(map(safe, text.splitlines()))


def _described(page: Page) -> str:
    title = f", {safe(page.title)}" if page.title else ""
    return f"{safe(page.url)}: {page.status} {safe(page.content_type)}, {size(len(page.body))}{title}"


def _run(session: Session, text: str, names: Names) -> None:
    """Runs the code and prints the value of its last line, a list with one value per line."""
    try:
        value = _value(ast.parse(text, _PLACE), names)
    except ShoalError:
        raise
    except Exception as error:
        # The user's code may raise anything; it is theirs to fix, so the message names the line.
        raise UsageError(f"{_PLACE}: {type(error).__name__}: {error}{_line(error)}") from error
    for each in value if isinstance(value, list) else [] if value is None else [value]:
        _print(session, each)


def _value(tree: ast.Module, names: Names) -> Any:
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, _PLACE, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), _PLACE, "exec"), names)
    return eval(compile(ast.Expression(last.value), _PLACE, "eval"), names)


def _line(error: Exception) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _PLACE]
    return f" (line {lines[-1]})" if lines else ""


def _print(session: Session, value: Any) -> None:
    if session.json:
        from pydantic_core import to_jsonable_python

        session.data({"value": to_jsonable_python(_plain(value), fallback=str)})
    else:
        session.show(safe(str(_plain(value))))


def _plain(value: Any) -> Any:
    """The text of an element, and a summary of the page: its body and headers do not belong on a screen."""

    if isinstance(value, Page):
        return _described(value)
    return value.text if isinstance(value, Node) else value


class _Console(code.InteractiveConsole):
    """Shows errors that Shoal raises on purpose as one line, without a traceback."""

    def showtraceback(self) -> None:
        error = sys.exception()
        if isinstance(error, ShoalError):
            self.write(f"{error}\n")
        else:
            super().showtraceback()


def _interact(names: Names) -> None:
    try:
        import readline
        import rlcompleter
    except ImportError:
        pass
    else:
        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
    usual = sys.displayhook
    sys.displayhook = _display
    try:
        _Console(names).interact(banner="", exitmsg="")
    finally:
        sys.displayhook = usual


def _display(value: Any) -> None:
    for each in value if isinstance(value, list) else [] if value is None else [value]:
        plain = _plain(each)
        click.echo(repr(plain) if isinstance(plain, str) and plain is each else plain)
