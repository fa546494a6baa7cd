"""`shoal shell`: one page at a Python prompt, to try selectors on."""

from __future__ import annotations

import ast
import code
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import click

from shoal.cli.fetching import fetch_options, manners
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.cli.words import size
from shoal.errors import ShoalError, UsageError
from shoal.extract.document import Node
from shoal.jobs.one_page import fetch_page, open_page
from shoal.jobs.trying import markdown_of, selected
from shoal.spiders.mistaken import check_is_no_file
from shoal.spiders.page import Page
from shoal.spiders.picks import Data, pick

Names = dict[str, Any]
_PLACE = "-c"
_HELP = 'page  css("h1")  xpath("//h1")  json("$.name")  view()  exit()'


@click.command(cls=Command)
@click.argument("source", metavar="URL|FILE")
@click.option("-c", "--code", "given_code", metavar="CODE", help="Run this instead of a prompt, and print its value.")
@fetch_options
def shell(session: Session, source: str, given_code: str | None, **given: Any) -> None:
    """Fetch the page at URL once, or open FILE, and try selectors on it.

    At the prompt there are page, css(selector), xpath(selector), json(path), which give lists of values, and view(),
    which shows the page as text.

    \b
    shoal shell https://example.com/
    shoal shell page.html -c 'css("h3 a::attr(title)")'
    """
    page = _page(session, source, given)
    names = _names(page)
    if given_code is not None:
        _run(session, given_code, names)
        return
    session.say(_described(page))
    session.say(_HELP)
    _interact(names)


def _page(session: Session, source: str, given: dict[str, Any]) -> Page:
    if "://" not in source and Path(source).is_file():
        return open_page(source)
    check_is_no_file(source)
    return fetch_page(source, manners(session, given, {}))


def _names(page: Page) -> Names:
    def css(selector: str) -> list[Any]:
        return selected("css", selector, page)

    def xpath(selector: str) -> list[Any]:
        return selected("xpath", selector, page)

    def json(path: str = "$") -> list[Any]:
        return pick("jsonpath", path).values(Data(page.data))

    def view() -> None:
        click.echo(_as_text(page))

    return {"page": page, "css": css, "xpath": xpath, "json": json, "view": view}


def _as_text(page: Page) -> str:
    """Markdown where its extra is installed, else the words alone."""

    if "json" in page.content_type:
        import json

        return json.dumps(page.data, indent=2, ensure_ascii=False, default=str)
    text = markdown_of(page) or textwrap.fill(page.text)
    return "\n".join(map(safe, text.splitlines()))


def _described(page: Page) -> str:
    title = f", {safe(page.title)}" if page.title else ""
    return f"{safe(page.url)}: {page.status} {safe(page.content_type)}, {size(len(page.body))}{title}"


def _run(session: Session, text: str, names: Names) -> None:
    """Runs all of it; what its last line gives is printed, a list one value a line."""
    try:
        value = _value(ast.parse(text, _PLACE), names)
    except ShoalError:
        raise
    except Exception as error:
        # Whatever the user's code raises is theirs to mend, and told with its line.
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
    """Elements by their text, and the page by what it is: neither its body nor its headers belong on a screen."""

    if isinstance(value, Page):
        return _described(value)
    return value.text if isinstance(value, Node) else value


class _Console(code.InteractiveConsole):
    """Errors that Shoal raises on purpose are one line, without the way that led to them."""

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
