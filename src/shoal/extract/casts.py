"""Converts a text from a page to a value of the wanted type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

from shoal.extract.extract_errors import CastError
from shoal.extract.parse_dates import date_in, datetime_in, iso_dates
from shoal.extract.parse_numbers import ANY_SYNTAX, NumberSyntax, easy_numbers, number_in
from shoal.extract.url_join import easily_joined, join


class Url(str):
    """An absolute http or https URL."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        # Told that it is a str, pydantic writes it in a quarter of the time.
        return core_schema.is_instance_schema(cls, serialization=core_schema.simple_ser_schema("str"))


_SCHEMES = ("http://", "https://")
_TRUE = frozenset(("true", "yes", "1", "on"))
_FALSE = frozenset(("false", "no", "0", "off"))


def cast(text: str, to: type, *, base_url: str) -> Any:
    """`to` is str, int, float, Decimal, bool, date, datetime or Url (see `castable`); raises CastError."""
    convert = caster(to)
    assert convert is not None
    return convert(text, base_url)


def castable(to: type) -> bool:
    return to in _CASTS


def caster(to: type, syntax: NumberSyntax = ANY_SYNTAX) -> Callable[[str, str], Any] | None:
    """A function that casts a text, with a base URL, to this type. None if there is no such cast."""
    convert = partial(_NUMBERS[to], syntax) if to in _NUMBERS else _CASTS.get(to)
    if convert is None:
        return None

    def checked(text: str, base_url: str) -> Any:
        try:
            return convert(text.strip(), base_url)
        except ValueError as error:
            raise CastError(text, to.__name__, str(error)) from None

    return checked


def column_caster(to: type, syntax: NumberSyntax = ANY_SYNTAX) -> Callable[[Sequence[str], str], list[Any]] | None:
    """Like `caster`, for all values of one field at once. Faster if they are in the common form."""
    convert = caster(to, syntax)
    if convert is None:
        return None
    easily = _EASILY.get(to) if syntax.decimal is None else None

    def cast_all(texts: Sequence[str], base_url: str) -> list[Any]:
        if easily is not None:
            try:
                return easily(texts, base_url)
            except ValueError:
                # One of them takes a closer look.
                pass
        return [convert(text, base_url) for text in texts]

    return cast_all


def _int(syntax: NumberSyntax, text: str, base_url: str) -> int:
    value = number_in(text, syntax)
    if value != value.to_integral_value():
        raise ValueError("it has decimals")
    return int(value)


def _float(syntax: NumberSyntax, text: str, base_url: str) -> float:
    value = float(number_in(text, syntax))
    if not isfinite(value):
        raise ValueError("it is too large")
    return value


def _decimal(syntax: NumberSyntax, text: str, base_url: str) -> Decimal:
    return number_in(text, syntax)


def _bool(text: str, base_url: str) -> bool:
    word = text.lower()
    if word not in _TRUE and word not in _FALSE:
        raise ValueError("it is none of yes, no, true, false, on, off, 1, 0")
    return word in _TRUE


def _url(text: str, base_url: str) -> Url:
    if not text:
        raise ValueError("it is empty")
    try:
        absolute = join(base_url, text)
    except ValueError:
        raise ValueError(f"it does not make a URL with {base_url}") from None
    if not absolute.startswith(_SCHEMES):
        raise ValueError("it leads to no page")
    return Url(absolute)


def _urls(texts: Sequence[str], base_url: str) -> list[Url]:
    if not base_url.startswith(_SCHEMES):
        raise ValueError("it leads to no page")
    return list(map(Url, easily_joined(base_url, texts)))


_NUMBERS: dict[type, Callable[[NumberSyntax, str, str], Any]] = {int: _int, float: _float, Decimal: _decimal}
_CASTS: dict[type, Callable[[str, str], Any]] = {
    str: lambda text, base_url: text,
    **{to: partial(convert, ANY_SYNTAX) for to, convert in _NUMBERS.items()},
    bool: _bool,
    date: lambda text, base_url: date_in(text),
    datetime: lambda text, base_url: datetime_in(text),
    Url: _url,
}
_EASILY: dict[type, Callable[[Sequence[str], str], list[Any]]] = {
    int: lambda texts, base_url: list(map(int, easy_numbers(texts))),
    Decimal: lambda texts, base_url: list(map(Decimal, easy_numbers(texts))),
    date: lambda texts, base_url: iso_dates(texts),
    Url: _urls,
}
"""Casts many texts at once. Raises ValueError if one of them is not in the common form."""
