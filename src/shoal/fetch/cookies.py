"""A job's cookies, kept by libcurl's own engine: it knows which to send where, and the public suffixes."""

from __future__ import annotations

import ada_url
import pycurl

from shoal.errors import UsageError

_TABS = 6


class Jar:
    """One per job. Cookies set by an answer are sent with later requests of the same jar only."""

    def __init__(self) -> None:
        self.share = pycurl.CurlShare()
        self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._window = pycurl.Curl()
        self._window.setopt(pycurl.SHARE, self.share)

    def add(self, origin_url: str, cookies: str) -> None:
        """Sends `a=b; c=d` to this very host, and over TLS alone if the URL is https."""
        origin = ada_url.URL(origin_url)
        secure = "TRUE" if origin.protocol == "https:" else "FALSE"
        for cookie in filter(None, (part.strip() for part in cookies.split(";"))):
            name, equals, value = (part.strip() for part in cookie.partition("="))
            if not name or not equals or not cookie.isprintable():
                raise UsageError(f"{cookie!r} is not a cookie: write name=value")
            line = "\t".join((origin.hostname, "FALSE", "/", secure, "0", name, value))
            self._window.setopt(pycurl.COOKIELIST, line.encode())

    def lines(self) -> list[str]:
        """All cookies in Netscape's format, session cookies included."""
        return [line.decode("latin-1") for line in self._window.getinfo_raw(pycurl.INFO_COOKIELIST)]

    def load(self, lines: list[str]) -> None:
        for line in lines:
            # Anything else libcurl takes for a command, or for a header whose cookie it sends to every host.
            if line.count("\t") == _TABS:
                self._window.setopt(pycurl.COOKIELIST, line.encode("latin-1"))
