"""How to ask a provider's API for a page: the target is a parameter, and the answer says what the site answered.

A recipe is one line of JSON in a list of proxies. `{url}`, `{session}`, `{region}` and `{secret:NAME}` are filled in:

    {"name": "acme", "url": "https://api.acme.example/v1", "query": {"key": "{secret:ACME}", "url": "{url}"},
     "status_header": "X-Site-Status", "their_fault": [429, 500, 503]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from shoal.model.sink_url import SECRET
from shoal.telemetry.mask_secrets import is_secret

_FILLED = re.compile(r"\{(url|session|region)\}")
_STATUSES_OF_API = (401, 402, 407, 429, 500, 502, 503, 504)
_NEVER_OF_A_SITE = (402, 407)
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProviderRecipe:
    url: str
    """Of the API. `{url}` in it is the target, quoted."""
    query: Texts = field(default_factory=dict)
    """Parameters of the query. One that is empty when it is filled in is left out."""
    headers: Texts = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    """If it is not empty, it is sent as JSON, by POST."""
    status_header: str = ""
    """Header fields of the answer with the status of the site and the final URL; without them, those of the answer."""
    url_header: str = ""
    body_field: str = ""
    """If the answer is JSON: its fields with the page, the status of the site and the final URL."""
    status_field: str = ""
    url_field: str = ""
    is_base64: bool = False
    """The page is in base64."""
    their_fault: tuple[int, ...] = _NEVER_OF_A_SITE
    """Statuses of the API itself that mean: no answer of the site, try again later."""
    takes: frozenset[str] = frozenset()
    """Which of session and region the API is told."""

    def filled(self, url: str, session: str, region: str) -> FilledRecipe:
        values = {"url": url, "session": session, "region": region}

        def fill(text: str, spell: Callable[[str], str] = str) -> str:
            return _FILLED.sub(lambda found: spell(values[found[1]]), text)

        query = {name: value for name, text in self.query.items() if (value := fill(text))}
        address = fill(self.url, lambda text: quote(text, safe=""))
        return FilledRecipe(
            f"{address}{'&' if '?' in address else '?'}{urlencode(query)}" if query else address,
            {name: value for name, text in self.headers.items() if (value := fill(text))},
            json.dumps(_filled_body(self.body, fill)).encode() if self.body else b"",
        )

    def with_secrets(self, fill: Callable[[str, bool], str]) -> ProviderRecipe:
        """`fill` replaces the references in a text, quoted for a URL if it says so."""
        return replace(
            self,
            url=fill(self.url, True),
            query={name: fill(text, False) for name, text in self.query.items()},
            headers={name: fill(text, False) for name, text in self.headers.items()},
            body=_filled_body(self.body, lambda text: fill(text, False)),
        )

    @property
    def open_secrets(self) -> list[str]:
        """Names of values that look like secrets, and are no references."""
        given = [*self.query.items(), *self.headers.items()]
        return [name for name, text in given if _is_secret(name) and not SECRET.search(text)]


@dataclass(frozen=True, slots=True)
class FilledRecipe:
    url: str
    headers: Texts
    body: bytes


def read_recipe(given: Mapping[str, Any]) -> ProviderRecipe:
    """Raises ValueError."""
    for name, value in given.items():
        if name not in _KINDS:
            raise ValueError(f"{name!r} is no part of a recipe; there are {', '.join(_KINDS)}")
        if not isinstance(value, _KINDS[name]):
            raise ValueError(f"{name} of a recipe must be {_WORDS[_KINDS[name]]}")
    texts = [text for name in ("query", "headers") for text in given.get(name, {}).values()]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("query and headers of a recipe have texts as values")
    if not str(given.get("url", "")).startswith(("https://", "http://")):
        raise ValueError("a recipe needs the url of the API, which begins with https://")
    takes = set(_FILLED.findall(json.dumps(given)))
    if "url" not in takes:
        raise ValueError("a recipe names the target as {url}, in its url, query, headers or body")
    tells_status = given.get("status_header") or given.get("status_field")
    their_fault = tuple(given.get("their_fault", _STATUSES_OF_API if tells_status else _NEVER_OF_A_SITE))
    return ProviderRecipe(**{**given, "their_fault": their_fault}, takes=frozenset(takes - {"url"}))


def _is_secret(name: str) -> bool:
    return is_secret(name) or name.lower() in ("key", "authorization", "access_key")


def _filled_body(body: Mapping[str, Any], fill: Callable[[str], str]) -> dict[str, Any]:
    filled = {name: fill(value) if isinstance(value, str) else value for name, value in body.items()}
    return {name: value for name, value in filled.items() if value != ""}


_KINDS: dict[str, type] = {
    **dict.fromkeys(("url", "status_header", "url_header", "body_field", "status_field", "url_field"), str),
    **dict.fromkeys(("query", "headers", "body"), dict),
    "is_base64": bool,
    "their_fault": list,
}
_WORDS = {str: "a text", dict: "an object", bool: "true or false", list: "a list"}
