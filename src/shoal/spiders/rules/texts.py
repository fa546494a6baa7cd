"""Shapes of texts that must be readable themselves: selectors, URLs and patterns over them."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import InvalidURL, UsageError
from shoal.extract.faults import BadSelector
from shoal.spiders.lists import ANYTHING_WITH_AT, spelt_safely
from shoal.spiders.picks import pick, pick_by_spelling
from shoal.spiders.rules.shapes import Text, shown
from shoal.spiders.rules.written import Faults, Written
from shoal.urls import canonical
from shoal.urls.patterns import compiled


@dataclass(frozen=True)
class Selector(Text):
    """`kind` is css, xpath, jsonpath or regex; without one the spelling decides."""

    wants: str = "a selector: CSS, XPath that begins with /, ./ or (, or JSONPath that begins with $"
    kind: str = ""

    def check(self, name: str, written: Written, faults: Faults) -> None:
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

    def check(self, name: str, written: Written, faults: Faults) -> None:
        text = written.value if isinstance(written.value, str) else ""
        try:
            canonical(text)
        except InvalidURL as error:
            safe = spelt_safely(text, ANYTHING_WITH_AT) if text else written.value
            faults.add(written, f"{name} is {shown(safe)} ({error.reason}); give {self.wants}")


@dataclass(frozen=True)
class UrlPattern(Text):
    wants: str = "text that occurs in a URL, with * for anything, or re: and a regular expression"

    def check(self, name: str, written: Written, faults: Faults) -> None:
        super().check(name, written, faults)
        if isinstance(written.value, str) and written.value.strip():
            try:
                compiled(written.value, name)
            except UsageError as error:
                faults.add(written, str(error))
