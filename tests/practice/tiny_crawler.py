"""A crawler that shares nothing with Shoal: http.client and html.parser, one request at a time."""

from __future__ import annotations

import http.client
from collections import deque
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from shoal.practice import ExpectedResults

TRIES = 3


class TinyCrawler:
    """Crawls the given hosts from the first front page, and reports like the site's expected results."""

    def __init__(self, hosts: list[str], port: int) -> None:
        self._port = port
        self._connections = {host: http.client.HTTPConnection(host, port, timeout=10) for host in hosts}
        self._robots = {host: self._read_robots(host) for host in hosts}
        self._queue: deque[tuple[str, tuple[str, ...]]] = deque([(f"http://{hosts[0]}:{port}/", ())])
        self._seen = {self._queue[0][0]}
        self.pages: dict[str, dict[str, int]] = {host: {} for host in hosts}
        self.redirects: dict[str, dict[str, str]] = {host: {} for host in hosts}
        self.dead: dict[str, dict[str, int]] = {host: {} for host in hosts}
        self.dropped: dict[str, dict[str, str]] = {host: {} for host in hosts}
        self.skipped: dict[str, dict[str, str]] = {host: {} for host in hosts}

    def crawl(self) -> dict[str, ExpectedResults]:
        while self._queue:
            self._visit(*self._queue.popleft())
        for connection in self._connections.values():
            connection.close()
        return {
            host: ExpectedResults(
                self.pages[host], self.redirects[host], self.dead[host], self.dropped[host], self.skipped[host]
            )
            for host in self._connections
        }

    def _visit(self, url: str, chain: tuple[str, ...]) -> None:
        host, path = urlsplit(url).hostname or "", urlsplit(url)._replace(scheme="", netloc="").geturl()
        if not self._robots[host].can_fetch("tiny", url):
            self.dropped[host][path] = "robots"
            return
        answer, body = self._fetch(host, path)
        location = answer.headers["Location"]
        if answer.status >= 500:
            self.dead[host][path] = answer.status
        elif location is None:
            self.pages[host][path] = answer.status
            if answer.status == 200 and answer.headers.get_content_type() == "text/html":
                self._follow(url, body.decode(answer.headers.get_content_charset("utf-8")))
        elif urljoin(url, location) in chain:
            self.dead[host][path] = answer.status
        else:
            target = urljoin(url, location)
            self.redirects[host][path] = urlsplit(target).path
            self._offer(target, (*chain, url))

    def _fetch(self, host: str, path: str) -> tuple[http.client.HTTPResponse, bytes]:
        for _ in range(TRIES):
            self._connections[host].request("GET", path, headers={"User-Agent": "tiny"})
            answer = self._connections[host].getresponse()
            body = answer.read()
            if answer.status < 500:
                break
        return answer, body

    def _read_robots(self, host: str) -> RobotFileParser:
        robots = RobotFileParser()
        robots.parse(self._fetch(host, "/robots.txt")[1].decode().splitlines())
        return robots

    def _follow(self, page_url: str, html: str) -> None:
        links = _Links()
        links.feed(html)
        for href, rel in links.found:
            url = _canonical(urljoin(page_url, href))
            parts = urlsplit(url)
            if parts.scheme != "http" or parts.hostname not in self._connections or parts.port != self._port:
                continue
            if rel == "nofollow":
                self.skipped[parts.hostname][parts.path] = "nofollow"
            else:
                self._offer(url, ())

    def _offer(self, url: str, chain: tuple[str, ...]) -> None:
        if url not in self._seen:
            self._seen.add(url)
            self._queue.append((url, chain))


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "a" and named.get("href"):
            self.found.append((named["href"] or "", named.get("rel") or ""))


def _canonical(url: str) -> str:
    parts = urlsplit(urldefrag(url)[0])
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name[:4] != "utm_" and name != "gclid"]
    return parts._replace(query=urlencode(kept)).geturl()
