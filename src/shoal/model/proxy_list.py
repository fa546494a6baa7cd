"""A list of proxies as people write it: one proxy on a line, with its attributes.

    http://proxy.example:3128                                  # a comment
    socks5h://ann:{secret:ACME}@gate.example:1080  region=de provider=acme tier=2 weight=3 price=0.001/request
    http://ann-session-{session}-country-{region}:{secret:ACME}@gate.example:8000  price=4/GB
    203.0.113.7:8080
    203.0.113.7:8080:ann:password
    max_cost=50/month

The last line limits what all jobs together may spend on the pool. A password may be a reference, `{secret:NAME}`, to
the settings of the process that uses the proxy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from shoal.errors import UsageError
from shoal.model.option import TEXTS, Kind
from shoal.model.provider_recipe import ProviderRecipe, read_recipe
from shoal.model.sink_url import SECRET

PROVIDER = "provider://"
POOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MOST_PROXIES = 100_000
_PROVIDER_FORM = re.compile(r"(?P<place>[^\s/:@]+:\d+)(:(?P<user>[^\s:@]+):(?P<password>[^\s@]+))?")
_COMMENT = re.compile(r"(^|\s)#.*")
_FIELD = re.compile(r"\{([^{}]*)\}")
_PRICE = re.compile(r"(\d+(?:\.\d+)?)/(request|GB)")
_COST_LIMIT = re.compile(r"max_cost=(\d+(?:\.\d+)?)(?:/(day|month))?")
_REGION = re.compile(r"[A-Za-z0-9_-]{1,32}")
_GB = 1e9
_DAY_0 = date(1970, 1, 1).toordinal()
_REFERENCE = "{}"
_REMOTE_NAMES = {"socks5://": "socks5h://", "socks4://": "socks4a://"}


@dataclass(frozen=True, slots=True)
class Proxy:
    url: str
    """With `{session}`, `{region}` and references to secrets in it."""
    name: str
    """How people know it: never a secret."""
    region: str = ""
    provider: str = ""
    tier: int = 1
    """Proxies of a higher tier are used only if those below are blocked or down."""
    weight: float = 1.0
    price_per_request: float = 0.0
    price_per_byte: float = 0.0
    concurrency: int = 0
    """Requests at a time; 0: any number."""
    rate: float = 0.0
    """Requests per second; 0: any number."""
    recipe: ProviderRecipe | None = None
    """For a provider that takes the target as a parameter of its API."""
    remote_dns: bool = False
    """The proxy looks the names of targets up, and this machine does not."""

    @property
    def has_session(self) -> bool:
        """The proxy gives each session an address of its own."""
        return self._takes("session")

    @property
    def is_limited(self) -> bool:
        return bool(self.concurrency or self.rate)

    @property
    def carries_browsers(self) -> bool:
        """A browser can connect through it: not through TLS to the proxy, nor through a provider's API."""
        return self.url.startswith(("http://", "socks"))

    def serves(self, region: str) -> bool:
        return not region or self.region == region or self._takes("region")

    def _takes(self, field: str) -> bool:
        return field in self.recipe.takes if self.recipe else f"{{{field}}}" in self.url

    def cost(self, size: int) -> float:
        return self.price_per_request + self.price_per_byte * size

    def url_for(self, session: str, region: str) -> str:
        url = self.url.replace("{session}", session).replace("{region}", region or self.region)
        for local, remote in _REMOTE_NAMES.items() if self.remote_dns else ():
            url = url.replace(local, remote, 1) if url.startswith(local) else url
        return url


class CostLimit(NamedTuple):
    """What all jobs together may spend on a pool."""

    amount: float
    period: str = ""
    """`day` or `month`, by UTC; empty: ever."""

    def begins(self, now: datetime) -> int:
        """The first day of the current period, counted from 1970."""
        if not self.period:
            return 0
        first = now.date() if self.period == "day" else now.date().replace(day=1)
        return first.toordinal() - _DAY_0


def cost_limit(text: str) -> CostLimit | None:
    """The limit in a list of proxies; of several, the last one."""
    found = None
    for line in text.splitlines():
        if match := _COST_LIMIT.fullmatch(_COMMENT.sub("", line).strip()):
            found = CostLimit(float(match[1]), match[2] or "")
    return found


def read_proxies(text: str) -> list[Proxy]:
    """Raises UsageError that names the line, and never shows a password."""
    proxies = []
    names: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = [line.strip()] if line.lstrip().startswith("{") else _COMMENT.sub("", line).split()
        if not words:
            continue
        try:
            if _is_cost_limit(words):
                continue
            proxy = _provider(words[0]) if words[0].startswith("{") else _entry(words)
        except ValueError as error:
            raise UsageError(f"line {number} of the proxies: {error}") from None
        names[proxy.name] = names.get(proxy.name, 0) + 1
        # Several users of one gateway have the same address.
        nth = names[proxy.name]
        proxies.append(proxy if nth == 1 else replace(proxy, name=f"{proxy.name}#{nth}"))
    if not proxies:
        raise UsageError("the list of proxies is empty: write one proxy on a line, as in http://proxy.example:3128")
    if len(proxies) > MOST_PROXIES:
        raise UsageError(f"the list has {len(proxies):,} proxies: give at most {MOST_PROXIES:,}")
    return proxies


def _is_cost_limit(words: list[str]) -> bool:
    if not words[0].startswith("max_cost="):
        return False
    if len(words) > 1 or not _COST_LIMIT.fullmatch(words[0]):
        raise ValueError(f"{' '.join(words)} is no limit of cost: write max_cost=50 or max_cost=50/month (or /day)")
    return True


def with_secrets(proxies: list[Proxy], secrets: Mapping[str, str]) -> list[Proxy]:
    """With the secrets in their places. Raises UsageError."""

    def value(found: re.Match[str]) -> str:
        return quote(secret_of(found), safe="")

    def secret_of(found: re.Match[str]) -> str:
        secret = secrets.get(found[1].lower())
        if secret is None:
            raise UsageError(
                f"there is no secret {found[1]} for a proxy: set SHOAL_SECRET_{found[1].upper()}, "
                f"or {found[1].lower()} under [secrets] in shoal.toml"
            )
        return secret

    def fill(text: str, is_url: bool) -> str:
        return SECRET.sub(value if is_url else secret_of, text)

    return [
        replace(proxy, url=fill(proxy.url, True), recipe=proxy.recipe and proxy.recipe.with_secrets(fill))
        for proxy in proxies
    ]


def check_no_password(proxies: list[Proxy]) -> None:
    """Raises UsageError if a proxy has a password that is no reference, or a user name that may be a key: some
    providers want their key as the user, without a password."""
    for proxy in proxies:
        # A reference has a colon in it.
        parts = urlsplit(SECRET.sub(_REFERENCE, proxy.url))
        lone_key = not parts.password and parts.username and _REFERENCE not in parts.username
        if lone_key or (parts.password and parts.password != _REFERENCE) or _has_open_secret(proxy):
            what = "a user name without a password, which may be a key" if lone_key else "a password"
            raise UsageError(
                f"proxy {proxy.name} has {what}: a stored pool only names it. Write {{secret:NAME}} in its "
                "place, and set SHOAL_SECRET_NAME where the jobs run"
            )


def _has_open_secret(proxy: Proxy) -> bool:
    return proxy.recipe is not None and bool(proxy.recipe.open_secrets)


def _entry(words: list[str]) -> Proxy:
    url = _url(words[0])
    attributes = dict(_attributes(words[1:]))
    for field in _FIELD.findall(url):
        if field not in ("session", "region") and not field.startswith("secret:"):
            # It may be a password.
            raise ValueError("a part in braces cannot be filled in: there are {session}, {region} and {secret:NAME}")
    parts = urlsplit(url)
    return Proxy(url, attributes.pop("name", parts.netloc.rpartition("@")[2]), **attributes)


def _provider(line: str) -> Proxy:
    try:
        given = json.loads(line)
    except ValueError:
        raise ValueError("it begins with {, and is not valid JSON on one line") from None
    attributes = dict(_attributes([f"{name}={given.pop(name)}" for name in list(given) if name in _READ]))
    recipe = read_recipe(given)
    host = urlsplit(recipe.url).hostname or ""
    # No scheme that anything could connect with: nothing goes around the recipe.
    return Proxy(f"{PROVIDER}{host}", attributes.pop("name", host), recipe=recipe, **attributes)


def _url(word: str) -> str:
    if found := _PROVIDER_FORM.fullmatch(word):
        secret = f"{quote(found['user'], safe='{}:')}:{quote(found['password'], safe='{}:')}@" if found["user"] else ""
        return f"http://{secret}{found['place']}"
    form = TEXTS[Kind.PROXY]
    if not re.search(form.pattern, word):
        # Not shown: wherever the password is, it is in a form that we do not know.
        raise ValueError(f"it begins with no proxy; write {form.wants}, or HOST:PORT, or HOST:PORT:USER:PASSWORD")
    return word.rstrip("/")


def _attributes(words: list[str]) -> Iterator[tuple[str, Any]]:
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in _READ:
            known = ", ".join(f"{known}=" for known in _READ)
            raise ValueError(f"what follows the proxy is no attribute of it; there are {known}")
        read = _READ[name](value)
        if read is None:
            raise ValueError(f"{word!r} cannot be used: write {_EXAMPLES[name]}")
        yield from read.items()


def _number(name: str, whole: bool = False) -> Callable[[str], dict[str, Any] | None]:
    def read(text: str) -> dict[str, Any] | None:
        try:
            number = int(text) if whole else float(text)
        except ValueError:
            return None
        return {name: number} if 0 < number < 1e9 else None

    return read


def _price(text: str) -> dict[str, Any] | None:
    found = _PRICE.fullmatch(text)
    if found is None:
        return None
    per_request = found[2] == "request"
    return {"price_per_request" if per_request else "price_per_byte": float(found[1]) / (1 if per_request else _GB)}


def _text(name: str) -> Callable[[str], dict[str, Any] | None]:
    return lambda text: {name: text} if _REGION.fullmatch(text) else None


_READ: Mapping[str, Callable[[str], dict[str, Any] | None]] = {
    "name": lambda text: {"name": text} if POOL_NAME.fullmatch(text) else None,
    "region": _text("region"),
    "provider": _text("provider"),
    "tier": _number("tier", whole=True),
    "weight": _number("weight"),
    "price": _price,
    "concurrency": _number("concurrency", whole=True),
    "rate": _number("rate"),
    "dns": lambda text: {"remote_dns": text == "remote"} if text in ("remote", "local") else None,
}
_EXAMPLES = {
    "name": "name=berlin-1",
    "region": "region=de",
    "provider": "provider=acme",
    "tier": "tier=2, a whole number from 1",
    "weight": "weight=2.5",
    "price": "price=0.001/request or price=4/GB",
    "concurrency": "concurrency=8",
    "rate": "rate=2, requests per second",
    "dns": "dns=remote or dns=local",
}
