"""The headers and cookies that a job was given. Secrets are sent only where the job began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from shoal.engine.session_jars import SessionJars
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.given_cookies import GivenCookies
from shoal.model import JobSpec
from shoal.model.request_options import OPEN_HEADERS
from shoal.urls import origin_of


class JobCredentials:
    def __init__(self, spec: JobSpec) -> None:
        self._headers = spec.headers
        self._open_headers = {k: v for k, v in spec.headers.items() if k.lower() in OPEN_HEADERS}
        self._cookies = spec.cookies
        self._cookie_lines = (spec.cookie_file or "").splitlines()
        self._seed_origins: set[str] = set()
        self.jars = SessionJars(self._fill)
        self.given_cookies = GivenCookies()
        self.given_cookies.add_lines(self._cookie_lines)

    def noting_origins(self, seeds: Iterable[str]) -> Iterator[str]:
        """Passes the seeds on. The job's headers and cookies may be sent to their origins."""
        for url in seeds:
            origin = origin_of(url)
            if origin not in self._seed_origins:
                self._seed_origins.add(origin)
                for cookie in self._cookies:
                    self.jars.add(origin + "/", cookie)
                    name, _, value = cookie.partition("=")
                    self.given_cookies.add(urlsplit(origin).hostname or "", name.strip(), value.strip())
            yield url

    def headers_for(self, origin: str) -> dict[str, str]:
        return dict(self._headers) if self.began_at(origin) else self._open_headers

    def began_at(self, origin: str) -> bool:
        """Whether a seed is there, or on the same host without TLS: it may have moved to https."""
        return origin in self._seed_origins or origin.replace("https://", "http://") in self._seed_origins

    def _fill(self, jar: CookieJar) -> None:
        jar.add_lines(self._cookie_lines)
        for origin in self._seed_origins:
            for cookie in self._cookies:
                jar.add(origin + "/", cookie)
