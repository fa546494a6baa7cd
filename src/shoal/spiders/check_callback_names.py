"""Finds requests in a spider's code that name a callback which the spider does not have, before a page is fetched.

Only what the code says outright is checked: a text, or a function of the module. `run_callback.py` checks the others
when they are yielded.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from shoal.errors import UsageError
from shoal.spiders.page import Request
from shoal.spiders.spider import Spider

_OF_A_PAGE = {"follow": ("to", "errors"), "request": ("to", "errors")}
"""Methods of a page, and their keywords that take a callback. `to` is also their second argument."""
_OF_A_REQUEST = ("callback", "errors")


def check_callback_names(spider: Spider) -> None:
    """Raises UsageError with the line."""
    functions = {id(function): function for function in (*spider.callbacks.values(), *spider.hooks.values())}
    for function in map(inspect.unwrap, functions.values()):
        for line, name in _named_callbacks(function):
            try:
                spider.named(name)
            except UsageError as error:
                raise UsageError(f"{Path(function.__code__.co_filename).name}:{line}: {error}") from None


def _named_callbacks(function: Callable[..., Any]) -> Iterator[tuple[int, str]]:
    """The line and name of each callback that a request of this function names."""
    try:
        lines, first_line = inspect.getsourcelines(function)
        tree = ast.parse(dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return  # Without its source, or not alone on its lines.
    page = next(iter(function.__code__.co_varnames), None)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for value in _callback_values(call, page, function):
                if (name := _name(value, function)) is not None:
                    yield first_line + value.lineno - 1, name


def _callback_values(call: ast.Call, page: str | None, function: Callable[..., Any]) -> Iterator[ast.expr]:
    match call.func:
        case ast.Attribute(ast.Name(of), method) if of == page and method in _OF_A_PAGE:
            keywords = _OF_A_PAGE[method]
            yield from call.args[1:2]
        case ast.Name(made) if function.__globals__.get(made) is Request:
            keywords = _OF_A_REQUEST
        case _:
            return
    yield from (keyword.value for keyword in call.keywords if keyword.arg in keywords)


def _name(value: ast.expr, function: Callable[..., Any]) -> str | None:
    """None if only the run can tell."""
    match value:
        case ast.Constant(str() as name):
            return name
        case ast.Name(name) if name not in function.__code__.co_varnames + function.__code__.co_freevars:
            given = function.__globals__.get(name)
            return given.__name__ if isinstance(given, Spider) or inspect.isfunction(given) else None
    return None
