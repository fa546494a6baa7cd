"""Cookie files in Netscape's format, as curl, wget, yt-dlp and the extensions of browsers write them.

A line is a cookie: domain, whether it holds for subdomains, path, whether it needs TLS, expiry, name and value, with
tabs in between. libcurl decides by these where to send it.
"""

from __future__ import annotations

import time

from shoal.errors import UsageError

MOST_CHARS = 200_000
_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_FLAGS = ("TRUE", "FALSE")


def read_cookies(text: str, now: float | None = None) -> str:
    """The cookies that have not expired, one on a line. Raises UsageError that names the line, never its value."""
    if len(text) > MOST_CHARS:
        raise UsageError(f"cookie_file has {len(text):,} characters; give at most {MOST_CHARS:,}")
    at = time.time() if now is None else now
    lines = [_checked(number, line) for number, line in enumerate(text.splitlines(), 1) if _is_cookie(line)]
    current = [line for line, expires in lines if expires == 0 or expires > at]
    if not current:
        why = "every cookie has expired" if lines else "there is no cookie"
        raise UsageError(f"cookie_file cannot be used, {why}: export the cookies again, in Netscape's format")
    return "\n".join(current)


def _is_cookie(line: str) -> bool:
    return bool(line.strip()) and (line.startswith(_HTTP_ONLY) or not line.startswith("#"))


def _checked(number: int, line: str) -> tuple[str, int]:
    fields = line.split("\t")
    if len(fields) == _FIELDS - 1:
        # Editors and extensions drop the tab before an empty value.
        fields.append("")
    if len(fields) != _FIELDS:
        raise _refused(number, f"it has no {_FIELDS} fields with tabs in between")
    domain, subdomains, path, secure, expires, name, _ = fields
    if not domain.removeprefix(_HTTP_ONLY).strip(".") or not path.startswith("/") or not name:
        raise _refused(number, "domain, path or name is missing")
    if subdomains.upper() not in _FLAGS or secure.upper() not in _FLAGS:
        raise _refused(number, "its second and fourth field must be TRUE or FALSE")
    if not line.replace("\t", "").isprintable():
        raise _refused(number, "it has control characters")
    try:
        # Python's MozillaCookieJar writes nothing for a cookie without an expiry.
        fields[4] = str(max(0, int(float(expires or 0))))
    except (ValueError, OverflowError):
        raise _refused(number, "its expiry is no number of seconds since 1970") from None
    fields[1], fields[3] = subdomains.upper(), secure.upper()
    return "\t".join(fields), int(fields[4])


def _refused(number: int, why: str) -> UsageError:
    return UsageError(f"cookie_file, line {number}: {why}")
