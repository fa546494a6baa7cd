"""Cookies between a job's jar and a browser: one jar for plain and rendered requests.

SameSite and partition keys have no field in Netscape's format: the first is lost, and partitioned cookies stay behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.browser.devtools import DevToolsError, Session
from shoal.cpu_wait import result_in_time
from shoal.fetch.cookie_jar import removal
from shoal.fetch.curl_transfer import Fetch
from shoal.telemetry import EventLogger

TAKE_S, TAKE_MOST_S = 3.0, 20.0
"""For the browser to give the cookies of a page: without waits for a processor, and with them."""

_HTTP_ONLY = "#HttpOnly_"
Cookie = dict[str, Any]

log = EventLogger(__name__)


async def take_cookies(
    browser: Session, context: str, call: Fetch, before: list[str], waited_s: Callable[[], float]
) -> None:
    """Brings what a page changed into the jar of its request, which had the lines `before`."""
    if call.jar is None:
        return
    own = {cookie["name"] for cookie in named_cookies(call.cookies, call.url)}
    asked = browser.call("Storage.getCookies", browserContextId=context)
    try:
        found = await result_in_time(asked, TAKE_S, TAKE_MOST_S, waited_s)
    except (TimeoutError, DevToolsError) as error:
        log_lost_cookies(call.url, error)
        return
    call.jar.set_lines(changes(before, [each for each in found["cookies"] if each["name"] not in own]))


def log_lost_cookies(url: str, error: Exception) -> None:
    log.warning("cookies_lost", f"later requests go without the cookies that {url} set: {error}")


def to_browser(lines: list[str]) -> list[Cookie]:
    """Cookies as `Storage.setCookies` takes them."""
    return [_cookie(line) for line in lines]


def named_cookies(text: str, url: str) -> list[Cookie]:
    """The request's own: `a=b; c=d`."""
    pairs = (part.strip().partition("=") for part in text.split(";") if part.strip())
    return [{"name": name, "value": value, "url": url} for name, _, value in pairs]


def changes(before: list[str], after: list[Cookie]) -> list[str]:
    """Lines for the jar: cookies that are new or different, and those that the page removed."""
    had = {_key(line): line for line in before}
    has = {_key(line): line for line in map(_line, filter(_fits_line, after))}
    changed = [line for key, line in has.items() if had.get(key) != line]
    return changed + [removal(line) for key, line in had.items() if key not in has]


def _cookie(line: str) -> Cookie:
    domain, with_subdomains, path, secure, expires, name, value = line.split("\t")
    bare = domain.removeprefix(_HTTP_ONLY).lstrip(".")
    cookie: Cookie = {
        "name": name,
        "value": value,
        "path": path,
        "domain": f".{bare}" if with_subdomains == "TRUE" else bare,
        "secure": secure == "TRUE",
        "httpOnly": domain.startswith(_HTTP_ONLY),
    }
    if int(expires):
        cookie["expires"] = int(expires)
    if name.startswith("__Host-"):
        # Such a cookie has no domain, only an origin.
        cookie["url"] = f"https://{cookie.pop('domain')}/"
    return cookie


def _fits_line(cookie: Cookie) -> bool:
    text = f"{cookie['name']}{cookie['value']}{cookie['path']}"
    # libcurl's lines are latin-1, and a tab or a newline would end a field.
    return "partitionKey" not in cookie and text.isprintable() and all(ord(char) < 256 for char in text)


def _line(cookie: Cookie) -> str:
    domain = cookie["domain"]
    fields = (
        f"{_HTTP_ONLY if cookie['httpOnly'] else ''}{domain}",
        "TRUE" if domain.startswith(".") else "FALSE",
        cookie["path"],
        "TRUE" if cookie["secure"] else "FALSE",
        str(max(0, int(cookie["expires"]))),
        cookie["name"],
        cookie["value"],
    )
    return "\t".join(fields)


def _key(line: str) -> tuple[str, str, str]:
    domain, _, path, _, _, name, _ = line.split("\t")
    return domain.removeprefix(_HTTP_ONLY).lstrip("."), path, name
