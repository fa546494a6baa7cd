"""The keyword arguments of a request that say how to fetch it, checked where the callback gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from shoal.errors import UsageError
from shoal.model import RequestOptions
from shoal.model.options import TIMEOUT_S
from shoal.model.rendering import Render, Step, steps_of
from shoal.model.request_options import Pairs

MOST_PRIORITY = 1 << 53
MOST_CHARS = 16_000
"""All headers and cookies of one request. They are stored with it, and hosts refuse more."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = re.compile(r"[\r\n\0]")
_SESSION = re.compile(r"[!-~\w]{0,64}")
_REGION = re.compile(r"[A-Za-z0-9_-]{0,32}")
_COOKIE_VALUE = re.compile(r"[^\x00-\x20\x7f;]*")
_MEANT = {"to": "callback", "callback": "to", "errback": "errors", "cb_kwargs": "meta"}
"""`Request` takes a callback, and `page.follow` names it `to`. The others are Scrapy's."""
_FETCHER = "Shoal sets it itself"
_OWNED = {
    **dict.fromkeys(("host", "content-length", "transfer-encoding", "connection", "keep-alive"), _FETCHER),
    **dict.fromkeys(("te", "trailer", "upgrade", "expect"), _FETCHER),
    "accept-encoding": "Shoal names the encodings that it can decode",
    "content-type": "give form=, json= or content_type= instead",
    "cookie": "give cookies= instead",
    "user-agent": "robots.txt is read for one name per job; set header=['User-Agent: ...'] for the whole job",
    **dict.fromkeys(("range", "if-range"), "a part of a page would be stored as the whole page"),
    **dict.fromkeys(
        ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since"),
        "--refresh makes requests conditional",
    ),
}
"""Headers that a request may not set, and why."""


class RequestArguments(TypedDict, total=False):
    """Docs: docs/reference/python.md."""

    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    errors: Callable[..., Any] | str
    statuses: Iterable[int]
    timeout: float
    render: bool | str
    steps: Sequence[str | Mapping[str, Any]]
    session: str
    region: str
    playwright: bool


def request_options(given: Mapping[str, Any]) -> RequestOptions:
    """Raises UsageError, in the callback's own line, for an argument that cannot be used."""
    unknown = given.keys() - RequestArguments.__annotations__.keys()
    if unknown:
        name, known = sorted(unknown)[0], ", ".join(RequestArguments.__annotations__)
        meant = f" (did you mean {_MEANT[name]}=?)" if name in _MEANT else ""
        raise UsageError(f"a request has no argument {name!r}{meant}; besides its own it takes {known}")
    headers = _pairs("headers", given.get("headers"), _check_header)
    cookies = _pairs("cookies", given.get("cookies"), _check_cookie)
    size = sum(len(name) + len(value) for name, value in headers + cookies)
    if size > MOST_CHARS:
        raise UsageError(f"headers and cookies of one request have {size:,} characters; give at most {MOST_CHARS:,}")
    steps, playwright = _steps(given.get("steps")), _playwright(given)
    return RequestOptions(
        headers,
        cookies,
        callback_name(given.get("errors")),
        _statuses(given),
        _timeout_s(given.get("timeout")),
        _render(given.get("render"), bool(steps) or playwright),
        steps,
        _name("session", given, _SESSION, "a name of at most 64 characters without blanks, such as ann"),
        _name("region", given, _REGION, "the name of a region, such as de"),
        playwright,
    )


def check_request(url: Any, method: Any, body: Any, content_type: Any) -> None:
    """Raises UsageError."""
    if type(url) is not str:
        raise UsageError(f"the url of a request is {_shown(url)}; give text")
    if type(method) is not str or not _TOKEN.fullmatch(method):
        raise UsageError(f"the method of a request is {_shown(method)}; give a name such as POST")
    if type(body) is not bytes:
        raise UsageError(f"the body of a request is {_shown(body)}; give bytes, or form= or json= of page.request")
    if type(content_type) is not str or _FORBIDDEN.search(content_type):
        raise UsageError(f"the content_type of a request is {_shown(content_type)}; give text such as text/plain")


def check_trail(meta: Any, priority: Any) -> None:
    """Raises UsageError for what cannot travel with a request."""
    if type(priority) is not int or abs(priority) > MOST_PRIORITY:
        raise UsageError(f"the priority of a request is {_shown(priority)}; give a whole number")
    if meta is None:
        return
    if not isinstance(meta, Mapping):
        raise UsageError(f"the meta of a request is {_shown(meta)}; give a mapping")
    try:
        json.dumps(meta)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the meta of a request cannot be stored as JSON: {error}") from None


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.80}"


def callback_name(callback: Callable[..., Any] | str | None) -> str | None:
    if callback is None or isinstance(callback, str):
        return callback
    if not callable(callback) or not hasattr(callback, "__name__"):
        raise UsageError(f"{callback!r} is not a callback: give a function of the spider, or its name")
    return str(callback.__name__)


def _pairs(what: str, given: Any, check: Callable[[str, str], None]) -> Pairs:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} is {type(given).__name__}; give a mapping of names to texts")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"{what}: {name!r} is {type(value).__name__}; give text for name and value")
        check(name, value)
    return tuple(given.items())


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise UsageError(f"{name!r} is not the name of a header")
    why = _OWNED.get(name.lower()) or (_FETCHER if name.lower().startswith("proxy-") else None)
    if why:
        raise UsageError(f"a request cannot set the header {name}: {why}")
    if _FORBIDDEN.search(value):
        raise UsageError(f"the header {name} contains a line break or NUL: remove it")


def _check_cookie(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name) or not _COOKIE_VALUE.fullmatch(value):
        raise UsageError(f"{name!r} is not a cookie that can be sent: it has blanks, ; or control characters")


def _statuses(given: Mapping[str, Any]) -> tuple[int, ...]:
    wanted = given.get("statuses")
    if wanted is None:
        return ()
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise UsageError(f"statuses is {wanted!r}; give several, as in {{404, 410}}")
    statuses = list(wanted)
    for status in statuses:
        if type(status) is not int or not 200 <= status <= 599 or status == 304:
            raise UsageError(f"statuses has {status!r}; give numbers from 200 to 599, without 304")
    return tuple(sorted(set(statuses)))


def _name(what: str, given: Mapping[str, Any], form: re.Pattern[str], wants: str) -> str | None:
    """Empty: none, also if the page has one."""
    name = given.get(what)
    if name is not None and (type(name) is not str or not form.fullmatch(name)):
        raise UsageError(f"{what} is {_shown(name)}; give {wants}")
    return name


def _steps(given: Any) -> tuple[Step, ...]:
    if given is None:
        return ()
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"steps is {_shown(given)}; give a list, as in [{{'wait': '.item'}}]")
    return steps_of(given)


def _playwright(given: Mapping[str, Any]) -> bool:
    wanted = given.get("playwright", False)
    if type(wanted) is not bool:
        raise UsageError(f"playwright is {_shown(wanted)}; give True or False")
    if wanted and (given.get("steps") or given.get("render", True) not in (True, Render.ALWAYS)):
        raise UsageError("playwright=True gives the page to the callback: leave steps= and render= out")
    return wanted


def _render(given: Any, has_steps: bool) -> Render | None:
    if given is None:
        return Render.ALWAYS if has_steps else None
    if isinstance(given, bool):
        given = Render.ALWAYS if given else Render.NEVER
    if given not in tuple(Render):
        raise UsageError(f"render is {_shown(given)}; give True, False or one of {', '.join(Render)}")
    return Render(given)


def _timeout_s(timeout: Any) -> float | None:
    if timeout is None:
        return None
    if not TIMEOUT_S.holds(timeout):
        raise UsageError(f"timeout is {timeout!r}; give seconds: {TIMEOUT_S.wants}")
    return float(timeout)
