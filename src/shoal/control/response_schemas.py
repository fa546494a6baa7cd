"""Builds the schemas of all request bodies and answers for the OpenAPI document.

Answers are described in `shoal/client/responses/`. Only there the client can use them too, because it must not import
pydantic; so their configuration is set here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic.json_schema import JsonSchemaMode
from typing_extensions import is_typeddict

from shoal.client.responses import data, fleet, jobs
from shoal.client.responses.data import Explained

Schema = dict[str, Any]
REF = "#/components/schemas/{model}"
_OPEN = (Explained,)
"""Answers with further fields."""


def schemas(bodies: Iterable[type], answers: Iterable[type]) -> tuple[dict[type, Schema], Schema]:
    """A reference to the schema of each type, and the schemas by name."""
    modes: list[tuple[type, JsonSchemaMode]] = [(body, "validation") for body in bodies]
    modes += [(answer, "serialization") for answer in answers]
    modes.sort(key=lambda pair: pair[0].__name__)
    found, shapes = TypeAdapter.json_schemas([(of, mode, adapter(of)) for of, mode in modes], ref_template=REF)
    return {of: _shortened(reference) for (of, _), reference in found.items()}, _shortened(shapes["$defs"])


@cache
def adapter(of: type) -> TypeAdapter[Any]:
    """Validates an answer of this type; fields that it does not name are refused."""
    return TypeAdapter(of)


def _configure(module: ModuleType) -> None:
    for of in vars(module).values():
        if is_typeddict(of):
            extra = ConfigDict(extra="allow") if of in _OPEN else ConfigDict(extra="forbid")
            with_config(ConfigDict(use_attribute_docstrings=True, **extra))(of)


for _module in (jobs, data, fleet):
    _configure(_module)


def _shortened(part: Any) -> Any:
    """Replaces names such as `shoal__store__jobs__Job`, which two classes of the same name get: the client's type keeps
    the short name, and the other becomes `StoreJob`."""
    if isinstance(part, dict):
        return {_short(name): _shortened(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_shortened(one) for one in part]
    return REF.format(model=_short(part.rpartition("/")[2])) if _is_reference(part) else part


def _is_reference(part: Any) -> bool:
    return isinstance(part, str) and part.startswith(REF.format(model="shoal__"))


def _short(name: str) -> str:
    top, *rooms = name.split("__")
    if top != "shoal" or not rooms:
        return name
    return rooms[-1] if rooms[0] == "client" else f"{rooms[0].title()}{rooms[-1]}"
