"""Decides about the requests of a page besides its document: blocked, answered from the cache, or sent."""

from __future__ import annotations

from typing import Any

from shoal.browser.asset_cache import AssetCache, fresh_for_s
from shoal.browser.devtools import Session
from shoal.browser.network_log import NetworkLog
from shoal.browser.response_body import BodyTooLarge, decoded_headers, fulfill, headers_of, read_body
from shoal.fetch.exchange import Headers
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model.rendering import Rendering
from shoal.urls.url_patterns import compiled

HEAVY = ("Image", "Font", "Media")
_CACHED = ("Script", "Stylesheet")
_CALLS = ("XHR", "Fetch", "EventSource", "Ping")
MOST_SCRIPT_BYTES = 20_000_000
Params = dict[str, Any]


class AssetRequests:
    def __init__(
        self,
        session: Session,
        network: NetworkLog,
        cache: AssetCache,
        rendering: Rendering,
        rules: SubresourceRules | None = None,
    ) -> None:
        self._session = session
        self._network = network
        self._cache = cache
        self._blocks = [compiled(pattern, "block") for pattern in rendering.block]
        self._heavy = () if rendering.load_images else HEAVY
        self._rules = rules

    def patterns(self) -> list[dict[str, str]]:
        """Which requests the browser pauses. Each pause costs a message, so others go on by themselves."""
        if self._blocks or (self._rules is not None and self._rules.for_assets):
            return [{"urlPattern": "*"}]
        calls = _CALLS if self._rules is not None else ()
        return [{"urlPattern": "*", "resourceType": kind} for kind in ("Document", *self._heavy, *_CACHED, *calls)]

    def needs_permission(self, params: Params) -> bool:
        """Whether `requested_with_permission` must be used."""
        return self._rules is not None and (self._rules.for_assets or _is_call(params))

    async def requested_with_permission(self, params: Params) -> None:
        assert self._rules is not None
        url, id = params["request"]["url"], params.get("networkId", "")
        self._network.hold()
        try:
            why = await self._rules.refusal(url, _is_call(params)) if url.startswith("http") else None
        finally:
            self._network.let_go(id)
        if why is None:
            self.requested(params)
        else:
            self._network.refused(url, why)
            self._fail(params)

    def requested(self, params: Params) -> None:
        request, kind = params["request"], params["resourceType"]
        if kind in self._heavy or any(matches(request["url"]) for matches in self._blocks):
            self._network.uncount(request["url"])
            self._fail(params)
        elif kind in _CACHED and request["method"] == "GET":
            self._load(params)
        else:
            self._session.tell("Fetch.continueRequest", requestId=params["requestId"])

    async def answered(self, params: Params) -> None:
        """Keeps a script or style for the next page."""
        request_id, headers = params["requestId"], headers_of(params.get("responseHeaders", []))
        status = params.get("responseStatusCode", 0)
        if not fresh_for_s(status, headers):
            self._session.tell("Fetch.continueRequest", requestId=request_id)
            return
        try:
            body = await read_body(self._session, request_id, MOST_SCRIPT_BYTES)
        except BodyTooLarge:
            self._session.tell("Fetch.failRequest", requestId=request_id, errorReason="Failed")
            return
        headers = decoded_headers(headers)
        self._cache.keep(params["request"]["url"], _origin(params), status, headers, body)
        await fulfill(self._session, request_id, status, headers, body)

    def _fail(self, params: Params) -> None:
        self._session.tell("Fetch.failRequest", requestId=params["requestId"], errorReason="BlockedByClient")

    def _load(self, params: Params) -> None:
        asset = self._cache.get(params["request"]["url"], _origin(params))
        if asset is None:
            self._session.tell("Fetch.continueRequest", requestId=params["requestId"], interceptResponse=True)
            return
        self._network.uncount(params["request"]["url"])
        fields = [{"name": name, "value": value} for name, value in Headers(list(asset.headers))]
        self._session.tell(
            "Fetch.fulfillRequest",
            requestId=params["requestId"],
            responseCode=asset.status,
            responseHeaders=fields,
            body=asset.encoded,
        )


def _is_call(params: Params) -> bool:
    return params["resourceType"] in ("Document", *_CALLS)


def _origin(params: Params) -> str:
    headers = params["request"]["headers"]
    return str(headers.get("Origin") or headers.get("origin") or "")
