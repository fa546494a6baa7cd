"""Shapes that a value in rules can have. Each checks a value and describes itself as JSON Schema, so the two agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shoal.model.option import Bound
from shoal.spiders.rules.parse_yaml import Faults, YamlValue
from shoal.wording import did_you_mean

Schema = dict[str, Any]


class Shape(Protocol):
    @property
    def wants(self) -> str:
        """What to give, in words."""

    def check(self, name: str, written: YamlValue, faults: Faults) -> None: ...

    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class Text:
    wants: str = "text"
    pattern: str = r"\S"
    """Searched for, as JSON Schema does."""

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if not isinstance(written.value, str) or not re.search(self.pattern, written.value):
            _refuse(self, name, written, faults)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": self.pattern}


@dataclass(frozen=True)
class Number:
    bound: Bound

    @property
    def wants(self) -> str:
        return self.bound.wants

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if not self.bound.holds(written.value):
            _refuse(self, name, written, faults)

    def schema(self) -> Schema:
        bound = self.bound
        least: Schema = {"minimum": bound.least}
        if bound.or_zero:
            least = {"anyOf": [{"const": 0}, least]}
        return {"type": "integer" if bound.whole else "number", **least, "maximum": bound.most}


@dataclass(frozen=True)
class Choice:
    among: tuple[Any, ...]

    @property
    def wants(self) -> str:
        return f"one of {', '.join(map(shown, self.among))}" if len(self.among) > 1 else shown(self.among[0])

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        # True == 1 to Python, not to YAML.
        if not any(type(each) is type(written.value) and each == written.value for each in self.among):
            near = _near(written.value, self.among) if isinstance(written.value, str) else ""
            _refuse(self, name, written, faults, near)

    def schema(self) -> Schema:
        return {"enum": list(self.among)}


TRUTH = Choice((True, False))
FLAG = Choice((True,))
"""Said or left out: two ways to say no would be one too many."""


@dataclass(frozen=True)
class Scalar:
    wants: str = "text, a number, true or false"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if written.value is None or isinstance(written.value, list | dict):
            _refuse(self, name, written, faults)

    def schema(self) -> Schema:
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class Many:
    of: Shape
    alone: bool = False
    """Whether one may stand for a list of one."""

    @property
    def wants(self) -> str:
        return f"{self.of.wants}, or a list of such" if self.alone else f"a list, each part {self.of.wants}"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if isinstance(written.value, list):
            if not written.value and self.alone:
                _refuse(self, name, written, faults)
            for part in written.value:
                self.of.check(name, part, faults)
        elif self.alone:
            self.of.check(name, written, faults)
        else:
            _refuse(self, name, written, faults)

    def schema(self) -> Schema:
        if not self.alone:
            return {"type": "array", "items": self.of.schema()}
        return {"anyOf": [self.of.schema(), {"type": "array", "items": self.of.schema(), "minItems": 1}]}


@dataclass(frozen=True)
class Named:
    """A mapping whose keys are names that the user chooses."""

    of: Shape
    names: Text
    taken: tuple[str, ...] = ()
    wants: str = "a mapping from names"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if not isinstance(written.value, dict) or not written.value:
            _refuse(self, name, written, faults)
        for key, value in written.pairs():
            self.names.check(f"a name in {name}", key, faults)
            if key.value in self.taken:
                faults.add(
                    key, f"the name {shown(key.value)} in {name} is taken; choose another, such as {key.value}_1"
                )
            self.of.check(str(key.value), value, faults)

    def schema(self) -> Schema:
        taken = {"not": {"enum": list(self.taken)}} if self.taken else {}
        names = {"pattern": self.names.pattern, **taken}
        return {"type": "object", "minProperties": 1, "propertyNames": names, "additionalProperties": self.of.schema()}


@dataclass(frozen=True)
class Short:
    """A text that stands for a mapping, or the mapping."""

    text: Shape
    table: Shape

    @property
    def wants(self) -> str:
        return f"{self.text.wants}; or {self.table.wants}"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if isinstance(written.value, str | dict):
            (self.text if isinstance(written.value, str) else self.table).check(name, written, faults)
        else:
            _refuse(self, name, written, faults)

    def schema(self) -> Schema:
        return {"anyOf": [self.text.schema(), self.table.schema()]}


@dataclass(frozen=True)
class Key:
    shape: Shape
    says: str


@dataclass(frozen=True)
class Table:
    """A mapping with fixed keys."""

    called: str
    keys: Mapping[str, Key]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    """Exactly one of these must be there."""
    apart: tuple[tuple[str, str], ...] = ()
    """These do not go together."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """A key, and the one it makes no sense without."""

    @property
    def wants(self) -> str:
        return f"a mapping with {', '.join(self.keys)}"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        if not isinstance(written.value, dict):
            _refuse(self, name, written, faults)
            return
        for key, value in written.pairs():
            known = self.keys.get(str(key.value))
            if known is None:
                near = _near(key.value, self.keys)
                allowed = ", ".join(self.keys)
                faults.add(key, f"unknown key {shown(key.value)} in {self.called}{near}; allowed are {allowed}")
            else:
                known.shape.check(str(key.value), value, faults)
        self._check_together(written, written.value, faults)

    def _check_together(
        self, written: YamlValue, pairs: Mapping[str, tuple[YamlValue, YamlValue]], faults: Faults
    ) -> None:
        for key in self.required:
            if key not in pairs:
                faults.add(written, f"{key} is missing in {self.called}; give {self.keys[key].shape.wants}")
        given = [key for key in self.one_of if key in pairs]
        if self.one_of and len(given) != 1:
            has = f"has {' and '.join(given)}" if given else "has none"
            faults.add(
                pairs[given[1]][0] if given else written,
                f"{self.called} takes one of {', '.join(self.one_of)}; this {has}",
            )
        for one, other in self.apart:
            if one in pairs and other in pairs:
                faults.add(pairs[other][0], f"{other} does not go with {one}; leave one of them out")
        for key, other in self.needs.items():
            if key in pairs and other not in pairs:
                faults.add(pairs[key][0], f"{key} needs {other} beside it; give {self.keys[other].shape.wants}")

    def schema(self) -> Schema:
        properties = {name: {"description": key.says, **key.shape.schema()} for name, key in self.keys.items()}
        made: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
        if self.required:
            made["required"] = list(self.required)
        if self.one_of:
            made["oneOf"] = [{"required": [key]} for key in self.one_of]
        if self.apart:
            made["not"] = {"anyOf": [{"required": list(pair)} for pair in self.apart]}
        if self.needs:
            made["dependentRequired"] = {key: [other] for key, other in self.needs.items()}
        return made


@dataclass(frozen=True)
class Definition:
    """A shape by its name, which may be part of itself."""

    name: str
    shape: Callable[[], Shape]

    @property
    def wants(self) -> str:
        return self.shape().wants

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        self.shape().check(name, written, faults)

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.name}"}


def _refuse(shape: Shape, name: str, written: YamlValue, faults: Faults, near: str = "") -> None:
    faults.add(written, f"{name} is {shown(written.value)}{near}; give {shape.wants}")


def _near(word: object, known: Any) -> str:
    return did_you_mean(str(word), (each for each in known if isinstance(each, str)))


def shown(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str() if len(value) > 80:
            return repr(value[:79] + "…")
        case _:
            return repr(value)
