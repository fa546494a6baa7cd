"""The options of a job as fields of the API's JSON, made from the table in `model/options.py`.

Every option has the name that it has on the command line, such as `max_pages`. Its place in JobSpec, such as
`limits.pages`, is accepted too: that is how a stored job is shown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints, create_model
from pydantic_core import PydanticCustomError

from shoal.control.models.strict_models import WHOLE, Text
from shoal.extract.format_names import FORMATS
from shoal.model.option import TEXTS, Admin, Bound, Kind, Option
from shoal.model.options import OPTIONS, from_fields, to_fields
from shoal.model.rendering import MOST_CHARS, step_text
from shoal.urls.file_types import FILE_TYPES
from shoal.urls.traps import ALL, RULES

Named = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"\S")]
_Line = Annotated[str, StringConstraints(max_length=8_000, pattern=r"^[^\r\n]*$")]
_Lines = Annotated[dict[Named, _Line], Field(max_length=1_000)]
_Value = str | int | float | bool
_Arguments = Annotated[dict[Named, _Value | Annotated[list[_Value], Field(max_length=1_000)]], Field(max_length=100)]
_Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"\S")]
_Proxy = Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(https?|socks5h?)://[^\s/]+")]


def _known(*names: str) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"give one of {', '.join(names)}")
        return name

    return AfterValidator(check)


def _one_of(names: tuple[str, ...]) -> Any:
    return Field(json_schema_extra={"enum": list(names)})


def _form(kind: Kind) -> Any:
    # To pydantic and JSON Schema, $ is the end alone.
    return StringConstraints(pattern=TEXTS[kind].pattern.removesuffix(r"(?!\n)"))


def _step(given: Any) -> Any:
    """Other types are left to the check that follows."""
    return step_text(given) if isinstance(given, dict) else given


_TEXTS: dict[Kind, Any] = {
    Kind.FLAG: bool,
    Kind.NAME: Named,
    Kind.HEADER: _Lines,
    Kind.COOKIE: _Lines,
    Kind.ARGUMENT: _Arguments,
    Kind.PATTERN: _Pattern,
    Kind.PROXY: _Proxy,
    Kind.PROXY_POOL: Annotated[str, Field(min_length=1, max_length=200_000, pattern=r"\S")],
    Kind.REGION: Annotated[str, Field(max_length=32, pattern=r"^[A-Za-z0-9_-]+$")],
    Kind.PARAM: Named,
    Kind.TRAP: Annotated[Text, _known(*RULES, ALL), _one_of((*RULES, ALL))],
    Kind.SHAPE: Annotated[str, StringConstraints(max_length=1_000, pattern=TEXTS[Kind.SHAPE].pattern)],
    Kind.FILE_TYPE: Annotated[Text, _known(*FILE_TYPES, ALL), _one_of((*FILE_TYPES, ALL))],
    Kind.SINK: Annotated[str, Field(min_length=1, max_length=2000)],
    Kind.FORMAT: Annotated[Text, _one_of(FORMATS)],
    Kind.CSS: Annotated[str, Field(max_length=MOST_CHARS, pattern=r"\S")],
    Kind.STEP: Annotated[str, BeforeValidator(_step, json_schema_input_type=str | dict[str, Any])],
    Kind.VIEWPORT: Annotated[str, _form(Kind.VIEWPORT)],
    Kind.LOCALE: Annotated[str, _form(Kind.LOCALE)],
    Kind.TIME_ZONE: Annotated[str, _form(Kind.TIME_ZONE)],
    Kind.URL: Annotated[str, Field(max_length=2000, pattern=r"^https?://[^\s/]")],
    Kind.SECRET: Annotated[str, Field(min_length=1, max_length=1000)],
    Kind.COOKIES: Annotated[str, Field(max_length=200_000, pattern="\t")],
    Kind.CERTIFICATES: Annotated[str, Field(max_length=200_000, pattern="-----BEGIN CERTIFICATE-----")],
}


_MAPPINGS = frozenset({Kind.HEADER, Kind.COOKIE, Kind.ARGUMENT})
"""Kinds whose field is an object, while the option is a list of texts."""
_NAMED = {name: option for name, option in OPTIONS.items() if name not in (option.field, option.path[0])}
"""Options with another name than their field."""


_FORMS = {
    Kind.HEADER: " Each entry is NAME:VALUE.",
    Kind.COOKIE: " Each entry is NAME=VALUE.",
    Kind.CERTIFICATES: " Give the text of the file.",
}
"""What to give, where the type does not say it."""


def order_model(
    name: str, base: type[BaseModel], about: str, group: str, required: tuple[str, ...] = (), **more: Any
) -> type[BaseModel]:
    """The options of a group of fields, such as `limits`, or of the job itself (""); only `required` must be given."""
    named = {} if group else {name: _named(option) for name, option in _NAMED.items()}
    fields = {field: _ordered(option, field in required) for field, option in _in(group).items()}
    return create_model(name, __base__=base, __doc__=about, **{**named, **fields, **more})


def change_model(name: str, base: type[BaseModel], about: str, group: str, **more: Any) -> type[BaseModel]:
    """Those that can change while a job runs."""
    named = {} if group else {name: _named_change(option) for name, option in _NAMED.items() if option.can_change}
    fields = {field: _changed(option) for field, option in _in(group).items() if option.can_change}
    return create_model(name, __base__=base, __doc__=about, **{**named, **fields, **more})


def given_options(body: BaseModel) -> dict[str, Any]:
    """The options that a body has, by their names; what is null or empty is left out."""
    given = body.model_dump()
    named = {name: value for name in _NAMED if (value := given.pop(name, None)) not in (None, ())}
    return {**from_fields(given), **named}


def changed_fields(body: BaseModel) -> dict[str, Any]:
    """The fields of JobSpec that a change has, by group; null is a value."""
    given = body.model_dump(exclude_unset=True)
    named = to_fields({name: given.pop(name) for name in _NAMED if name in given})
    for group, value in named.items():
        given[group] = {**given.get(group, {}), **value} if isinstance(value, dict) else value
    return given


def check_given_once(body: BaseModel) -> None:
    """Raises an error of pydantic's if the body has an option by its name and by its field."""
    for name in body.model_fields_set & _NAMED.keys():
        group, _, field = _NAMED[name].field.rpartition(".")
        place = getattr(body, group) if group else body
        if place is not None and field in place.model_fields_set:
            about = {"name": name, "field": _NAMED[name].field}
            raise PydanticCustomError("given_twice", "{name} and {field} are the same option: give one of them", about)


def _in(group: str) -> dict[str, Option]:
    return {option.path[-1]: option for option in OPTIONS.values() if ".".join(option.path[:-1]) == group}


def _named(option: Option) -> Any:
    if option.many:
        return _named_type(option), Field((), description=_text(option))
    return _named_type(option) | None, Field(None, description=_text(option))


def _ordered(option: Option, required: bool) -> Any:
    if required:
        return _type(option), Field(description=_text(option))
    if not option.many:
        return _type(option) | None, Field(None, description=_about(option))
    if option.kind in _MAPPINGS:
        return _type(option), Field(default_factory=dict, description=_about(option))
    return _type(option), Field((), description=_about(option))


def _changed(option: Option) -> Any:
    of = _type(option)
    return of | None if option.default is None else of, Field(option.field_default, description=_about(option))


def _named_change(option: Option) -> Any:
    of = _named_type(option)
    return of | None if option.default is None else of, Field(option.default, description=_text(option))


def _about(option: Option) -> str:
    """Of a field: the option's own text stands at its name."""
    if option.name == option.field or option.name not in _NAMED:
        return _text(option)
    return f"The {'opposite of' if option.negated else 'same option as'} `{option.name}`."


def _text(option: Option) -> str:
    default = "" if option.many or option.default in (None, False) else f" Default: `{option.default}`."
    form = _FORMS.get(option.kind, "")
    admin = "" if option.admin is None else f" Needs an admin{'' if option.admin is Admin.ANY else f' {option.admin}'}."
    return f"{option.help}{form}{default}{admin}"


def _named_type(option: Option) -> Any:
    if option.kind not in _MAPPINGS:
        return _type(option)
    line = Annotated[str, Field(max_length=9_000), _form(option.kind)]
    return Annotated[tuple[line, ...], Field(max_length=1_000)]


def _type(option: Option) -> Any:
    if option.bound is not None:
        return _number(option.bound)
    if isinstance(option.choices, type) and issubclass(option.choices, StrEnum):
        return option.choices
    if option.choices:
        return Literal[option.choices]
    one = _TEXTS[option.kind]
    if not option.many or option.kind in _MAPPINGS:
        return one
    return Annotated[tuple[one, ...], Field(max_length=10_000, fail_fast=True)]  # type: ignore[valid-type]


def _number(bound: Bound) -> Any:
    if not bound.or_zero:
        within = Field(ge=bound.least, le=bound.most)
        return Annotated[int, within, WHOLE] if bound.whole else Annotated[float, within]

    def check(value: float) -> float:
        if not bound.holds(value):
            raise ValueError(f"give {bound.wants}")
        return value

    or_zero: Any = {"anyOf": [{"const": 0}, {"minimum": bound.least}]}
    return Annotated[float, AfterValidator(check), Field(ge=0, le=bound.most, json_schema_extra=or_zero)]
