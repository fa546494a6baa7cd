"""Fingerprints of requests: what the frontier takes for the same request, in every process of a crawl."""

from __future__ import annotations

import json
import random
from hashlib import blake2b, sha1
from typing import Any

from scrapy.utils.request import RequestFingerprinter
from w3lib.url import canonicalize_url

from shoal.urls import fingerprint

_URLS_REMEMBERED = 50_000


class Fingerprints:
    def __init__(self, fingerprinter: Any) -> None:
        """`fingerprinter`: the crawler's, from REQUEST_FINGERPRINTER_CLASS."""
        self._fingerprinter = fingerprinter
        self._is_default = type(fingerprinter) is RequestFingerprinter
        self._by_url: dict[str, int] = {}
        self._starts: dict[int, int] = {}
        self.start_scope = "start"
        """The start requests of all processes in one scope are the same."""
        self.as_scrapy_redis = False
        """The job was imported: its frontier knows the fingerprints of scrapy-redis."""

    def of(self, request: Any) -> int:
        if self.as_scrapy_redis:
            return of_scrapy_redis(request)
        if not self._is_default or "verbatim_url" in request.meta:
            return int.from_bytes(self._fingerprinter.fingerprint(request)[:8], "big", signed=True)
        if request.method != "GET" or request.body:
            return fingerprint(canonicalize_url(request.url), request.method, request.body)
        # Most links of a page are on every page of the site.
        if request.url not in self._by_url:
            if len(self._by_url) >= _URLS_REMEMBERED:
                self._by_url.clear()
            self._by_url[request.url] = fingerprint(canonicalize_url(request.url))
        return self._by_url[request.url]

    def unfiltered(self, request: Any, parent: tuple[int, dict[int, int]] | None) -> int:
        """Of a request that is not filtered. It is the same if the same callback runs again after a kill, or if another
        process yields the same start requests. `parent` has the fingerprint of the request that led to it, and counts
        the repeated requests of its callback."""
        own = self.of(request)
        if parent is not None:
            scope, repeated = str(parent[0]), parent[1]
        elif request.meta.get("is_start_request"):
            scope, repeated = self.start_scope, self._starts
        else:
            scope, repeated = str(random.random()), {}
        repeated[own] = repeated.get(own, -1) + 1
        digest = blake2b(f"{scope} {own} {repeated[own]}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


def of_scrapy_redis(request: Any) -> int:
    """The beginning of what its `RFPDupeFilter` keeps."""
    same = {"method": request.method, "url": canonicalize_url(request.url), "body": request.body.hex()}
    digest = sha1(json.dumps(same, sort_keys=True).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
