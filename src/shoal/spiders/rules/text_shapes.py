"""Shapes of texts that must be readable themselves: selectors, URLs and patterns over them."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import InvalidURL, UsageError
from shoal.extract.extract_errors import BadSelector
from shoal.model.field_type import DECIMAL_TYPE, decimal_type
from shoal.model.rendering import steps_of
from shoal.spiders.field_selectors import pick, pick_by_spelling
from shoal.spiders.rules.parse_yaml import Faults, YamlValue
from shoal.spiders.rules.shapes import Choice, Schema, Text, shown
from shoal.spiders.url_lists import ANYTHING_WITH_AT, spelt_safely
from shoal.urls import canonical
from shoal.urls.url_patterns import compiled
from shoal.urls.url_ranges import expand_ranges


@dataclass(frozen=True)
class Selector(Text):
    """`kind` is css, xpath, jsonpath or regex; without one the spelling decides."""

    wants: str = "a selector: CSS, XPath that begins with /, ./ or (, or JSONPath that begins with $"
    kind: str = ""

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        super().check(name, written, faults)
        text = written.value
        if isinstance(text, str) and text.strip():
            try:
                pick(self.kind, text) if self.kind else pick_by_spelling(text)
            except BadSelector as error:
                faults.add(written, f"{name} {shown(text)}: {error.why}", error.column)


@dataclass(frozen=True)
class Address(Text):
    wants: str = "an absolute http or https URL"
    pattern: str = r"^\s*[Hh][Tt][Tt][Pp][Ss]?:"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        text = written.value if isinstance(written.value, str) else ""
        try:
            canonical(expand_ranges(text)[0])
        except InvalidURL as error:
            safe = spelt_safely(text, ANYTHING_WITH_AT) if text else written.value
            faults.add(written, f"{name} is {shown(safe)} ({error.reason}); give {self.wants}")
        except UsageError as error:
            faults.add(written, f"{name}: {error}")


@dataclass(frozen=True)
class TypeName(Choice):
    """One of the types, or a decimal with its precision."""

    @property
    def wants(self) -> str:
        return f"{super().wants}, or a decimal with its precision such as 'decimal(12,2)'"

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        try:
            if not isinstance(written.value, str) or decimal_type(written.value) is None:
                super().check(name, written, faults)
        except ValueError as error:
            faults.add(written, f"{name} is {shown(written.value)}: {error}")

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), {"type": "string", "pattern": f"^{DECIMAL_TYPE}$"}]}


@dataclass(frozen=True)
class UrlPattern(Text):
    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        super().check(name, written, faults)
        if isinstance(written.value, str) and written.value.strip():
            try:
                compiled(written.value, name)
            except UsageError as error:
                faults.add(written, str(error))


@dataclass(frozen=True)
class PageStep(Text):
    """A step in a browser: a text, or a mapping."""

    def check(self, name: str, written: YamlValue, faults: Faults) -> None:
        try:
            steps_of([written.plain()])
        except UsageError as error:
            faults.add(written, f"{name}: {str(error).removeprefix('step 1: ')}")

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), {"type": "object", "minProperties": 1}]}
