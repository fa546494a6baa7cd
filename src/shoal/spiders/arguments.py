"""Arguments of a spider: the parameters of its callbacks besides the page, given as text and typed by the signature.

    @spider("https://shop.test/{category}/")
    def shop(page: Page, category: str, limit: int = 10): ...

`shoal crawl shop.py -a category=garden -a limit=5` gives both to every callback that names them.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from shoal.errors import UsageError
from shoal.spiders.item import unwrap_annotation
from shoal.urls.url_ranges import MOST_URLS
from shoal.wording import did_you_mean

Given = Mapping[str, str | list[str]]
"""Name -> text; a list if it was given more than once."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_REQUIRED = inspect.Parameter.empty
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class SpiderParameter(NamedTuple):
    name: str
    type: Any
    default: Any
    """`inspect.Parameter.empty` if it must be given."""


def argument_texts(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """As a command line has them: one `name=value` for each value."""
    return tuple(f"{name}={value}" for name, given in arguments.items() for value in _values(given))


def parameters_of(functions: Iterable[Callable[..., Any]]) -> dict[str, SpiderParameter]:
    """By name. If callbacks share one, the first one's type holds, and it is required only if all require it."""
    found: dict[str, SpiderParameter] = {}
    for function in functions:
        for parameter in _own_parameters(function).values():
            known = found.get(parameter.name)
            if known is None or (known.default is _REQUIRED and parameter.default is not _REQUIRED):
                found[parameter.name] = parameter if known is None else known._replace(default=parameter.default)
    return found


def typed_arguments(
    spider: str, parameters: Mapping[str, SpiderParameter], given: Given, ignore_unknown: bool = False
) -> dict[str, Any]:
    """The arguments that were given, with their types. Raises UsageError that names every fault."""
    faults = [] if ignore_unknown else [_unknown(spider, name, parameters) for name in given if name not in parameters]
    values: dict[str, Any] = {}
    for name in given.keys() & parameters.keys():
        try:
            values[name] = _typed(parameters[name], given[name])
        except UsageError as fault:
            faults.append(str(fault))
    missing = [name for name, each in parameters.items() if each.default is _REQUIRED and name not in given]
    if missing:
        ways = " ".join(f"-a {name}=..." for name in missing)
        faults.append(f"the spider {spider} needs {', '.join(missing)}: give {ways}")
    if faults:
        raise UsageError("\n".join(faults))
    return values


def bound(
    function: Callable[..., Any], parameters: Mapping[str, SpiderParameter], values: Mapping[str, Any]
) -> Callable[..., Any]:
    """The callback with those of the arguments that it names; itself if it names none."""
    own = {}
    for name, parameter in _own_parameters(function).items():
        if name in values:
            own[name] = values[name]
        elif parameter.default is _REQUIRED:
            # Another callback has a default for it.
            own[name] = parameters[name].default
    if not own:
        return function
    with_arguments = functools.partial(function, **own)
    # For error messages, which name the callback and its line.
    functools.update_wrapper(with_arguments, function)
    return with_arguments


def filled_urls(
    urls: Iterable[str], parameters: Mapping[str, SpiderParameter], values: Mapping[str, Any]
) -> tuple[str, ...]:
    """Start URLs with `{name}` replaced, percent-encoded; a list makes one URL for each of its values."""
    if not parameters:
        return tuple(urls)
    return tuple(filled for url in urls for filled in _filled(url, parameters, values))


def _filled(url: str, parameters: Mapping[str, SpiderParameter], values: Mapping[str, Any]) -> list[str]:
    filled = [url]
    for name in dict.fromkeys(_PLACEHOLDER.findall(url)):
        if name not in parameters:
            raise UsageError(f"the start URL {url} names {name}, which is no parameter; there are {_list(parameters)}")
        value = values.get(name, parameters[name].default)
        if value is None or value is _REQUIRED:
            raise UsageError(f"the start URL {url} needs the argument {name}: give -a {name}=...")
        texts = [quote(str(each), safe="") for each in _values(value)]
        if len(filled) * len(texts) > MOST_URLS:
            raise UsageError(f"the arguments of the start URL {url} give more than {MOST_URLS:,} URLs: give fewer")
        filled = [part.replace(f"{{{name}}}", text) for part in filled for text in texts]
    return filled


@functools.lru_cache(1024)
def _own_parameters(function: Callable[..., Any]) -> dict[str, SpiderParameter]:
    _, *others = inspect.signature(function).parameters.values() or [None]
    if not others:
        return {}
    try:
        hints = typing.get_type_hints(inspect.unwrap(function))
    except (NameError, TypeError):
        # A name that is imported only for type checkers. Then the values stay text.
        hints = {}
    named = [each for each in others if each is not None and each.kind in _NAMED]
    return {each.name: SpiderParameter(each.name, hints.get(each.name, str), each.default) for each in named}


def _typed(parameter: SpiderParameter, given: str | list[str]) -> Any:
    _, is_list, _ = unwrap_annotation(parameter.type)
    values = _values(given)
    if len(values) > 1 and not is_list:
        raise UsageError(
            f"the argument {parameter.name} was given {len(values)} times, but it is no list: give it once"
        )
    try:
        adapter = TypeAdapter(parameter.type)
    except PydanticSchemaGenerationError:
        raise UsageError(f"the parameter {parameter.name} has a type that no text can be read as") from None
    texts = list(map(str, values))
    if typing.get_origin(parameter.type) is typing.Literal:
        texts = [{str(choice): choice for choice in typing.get_args(parameter.type)}.get(text, text) for text in texts]
    try:
        return adapter.validate_python(texts if is_list else texts[0])
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise UsageError(f"the argument {parameter.name} is {', '.join(texts)!r}: {why}") from None


def _values(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple | set | frozenset) else [given]


def _unknown(spider: str, name: str, parameters: Mapping[str, SpiderParameter]) -> str:
    if not parameters:
        return f"the spider {spider} takes no argument, and {name} was given: add a parameter to its function"
    return f"the spider {spider} has no argument {name}{did_you_mean(name, parameters)}; it has {_list(parameters)}"


def _list(parameters: Mapping[str, SpiderParameter]) -> str:
    return ", ".join(parameters)
