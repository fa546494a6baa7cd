"""Fetches pages through a provider's API, by a recipe. The answer looks like the site's own."""

from __future__ import annotations

import base64
import binascii
import http.client
import json
from dataclasses import replace
from typing import Any

from shoal.errors import InvalidURL
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind, Headers
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.proxies.pool import ProxyPool
from shoal.model.provider_recipe import ProviderRecipe
from shoal.urls import canonical


def fetcher_for(pool: ProxyPool, exit: Exit, direct: Fetcher) -> Fetcher | ProviderFetcher:
    """What fetches through the exit."""
    proxy = pool.proxies[exit.place] if exit.place >= 0 else None
    if proxy is None or proxy.recipe is None:
        return direct
    return ProviderFetcher(direct, proxy.recipe, exit, exit.region or proxy.region)


class ProviderFetcher:
    def __init__(self, fetcher: Fetcher, recipe: ProviderRecipe, exit: Exit, region: str) -> None:
        self._fetcher = fetcher
        self._recipe = recipe
        self._exit = exit
        self._region = region
        self.agent = fetcher.agent

    async def fetch(self, call: Fetch) -> Exchange | Failure:
        """The whole answer, unpacked."""
        if not await self._fetcher.may_pass_on(call):
            return self._fetcher.refusal()
        if call.method != "GET" or call.body:
            words = f"the provider {self._exit.name} carries only GET requests"
            return Failure(FailureKind.PROXY, words, 0.0, is_refused_by_proxy=True)
        filled = self._recipe.filled(call.url, self._exit.session, self._region)
        asked = Fetch(
            filled.url,
            method="POST" if filled.body else "GET",
            body=filled.body,
            content_type="application/json" if filled.body else "",
            headers=filled.headers,
            max_bytes=2 * call.max_bytes,
            deadline_s=call.deadline_s,
        )
        answer = await self._fetcher.fetch(asked)
        if isinstance(answer, Failure):
            # Its words may name the URL, which has a secret in it.
            words = f"the provider does not answer ({answer.kind})"
            return Failure(FailureKind.PROXY, words, answer.latency_s)
        if answer.status in self._recipe.their_fault:
            return Failure(FailureKind.PROXY, f"the provider answered {answer.status}", answer.latency_s)
        return self._as_site(call, answer)

    fetch_packed = fetch

    def _as_site(self, call: Fetch, answer: Exchange) -> Exchange | Failure:
        recipe = self._recipe
        status, final, body = answer.status, "", answer.body
        if recipe.body_field:
            try:
                told: dict[str, Any] = json.loads(answer.body)
                page = str(told[recipe.body_field])
                body = base64.b64decode(page) if recipe.is_base64 else page.encode()
                status = int(told.get(recipe.status_field, status))
                final = str(told.get(recipe.url_field, ""))
            except (ValueError, TypeError, KeyError, binascii.Error):
                return Failure(FailureKind.PROXY, "the provider's answer is not as its recipe says", answer.latency_s)
        if recipe.status_header and (text := answer.headers.get(recipe.status_header)).isdecimal():
            status = int(text)
        if recipe.url_header:
            final = answer.headers.get(recipe.url_header)
        kind = "text/html; charset=utf-8" if recipe.body_field else answer.headers.get("content-type") or "text/html"
        pairs = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        if status < 300 and _is_another(final, call.url):
            # The page belongs to that URL, which robots.txt or the scope may refuse.
            status, body, pairs = 302, b"", [("Location", final)]
        return _answer(call.url, answer, status, Headers(pairs), body)


def _is_another(final: str, url: str) -> bool:
    try:
        return bool(final) and canonical(final) != canonical(url)
    except InvalidURL:
        return False


def _answer(url: str, answer: Exchange, status: int, headers: Headers, body: bytes) -> Exchange:
    lines = [f"HTTP/1.1 {status} {_reason(status)}", *(f"{name}: {value}" for name, value in headers), "", ""]
    head = "\r\n".join(lines).encode("latin-1", "replace")
    answer = replace(answer, url=url, status=status, reason=_reason(status), headers=headers, head=head)
    return replace(answer, raw=body, body=body, ip="", fault=None)


def _reason(status: int) -> str:
    return http.client.responses.get(status, "")
