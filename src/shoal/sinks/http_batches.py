"""Batches of items to an HTTP endpoint, each a POST, signed like a webhook.

A request that is repeated has the same Idempotency-Key and the same pages, so a receiver can ignore it. A request that
the endpoint refuses (400, 413, 422) is halved until the refused items are found.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from shoal import __version__
from shoal.errors import Unavailable, UsageError
from shoal.model import ItemType
from shoal.model.webhook_signature import signature
from shoal.sinks.destination import Destination, Options, SinkBatch, SinkItem
from shoal.sinks.item_json import item_fields, removed_fields
from shoal.store.crawl.sink_state import Refusal, SinkKey

_ROWS, _MOST_ROWS = 500, 2_000
_ANSWER_S = 30.0
_READ_BYTES = 2_000
_REFUSED = (400, 413, 422)
_PASSING = (408, 409, 425, 429)
_AS_WRITTEN = "%/?:@!$&'()*+,;=[]"
"""Of a URL; other characters than these, ASCII letters and digits are quoted."""


class _Answer(NamedTuple):
    status: int
    words: str


class HttpSink(Destination):
    fixed_batches = True

    def __init__(self, key: SinkKey, address: str, options: Options) -> None:
        self._parts = urlsplit(address)
        target = self._parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        self._target = quote(target, safe=_AS_WRITTEN)
        self._key = key
        self.address = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}{self._parts.path}"
        self._secret = options.get("secret")
        self.items_at_once = _rows(self.address, options)
        self._sent: set[str] = set()
        """The requests of a batch that arrived before one failed."""

    def prepare(self, types: Sequence[ItemType]) -> None:
        """An empty batch: the endpoint must accept it."""
        self._send(f"{self._key.job}-{self._key.place}-check", {"job": self._key.job, "items": [], "removed": []})

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        refusals: list[Refusal] = []
        name = f"{self._key.job}-{self._key.place}-{batch.number}"
        for place, chunk in enumerate(batch.chunks):
            refusals += self._deliver(f"{name}-{place}", batch.job, chunk)
        if batch.removed:
            removed = [removed_fields(batch.job, each) for each in batch.removed]
            self._send_once(f"{name}-removed", {"job": batch.job, "items": [], "removed": removed})
        self._sent.clear()
        return refusals

    def _deliver(self, id: str, job: str, chunk: Sequence[SinkItem]) -> list[Refusal]:
        if not chunk:
            return []
        items = [item_fields(job, item) for item in chunk]
        refused = self._send_once(id, {"job": job, "items": items, "removed": []})
        if refused is None:
            return []
        if len(chunk) == 1:
            return [Refusal(chunk[0].name, chunk[0].page, chunk[0].data, refused)]
        half = len(chunk) // 2
        return self._deliver(f"{id}.0", job, chunk[:half]) + self._deliver(f"{id}.1", job, chunk[half:])

    def _send_once(self, id: str, content: dict[str, Any]) -> str | None:
        if id in self._sent:
            return None
        refused = self._send(id, content)
        if refused is None:
            self._sent.add(id)
        return refused

    def _send(self, id: str, content: dict[str, Any]) -> str | None:
        """Returns the endpoint's words if it refuses the items."""
        answer = self._post(id, json.dumps({"batch": id, **content}, ensure_ascii=False).encode("utf-8", "replace"))
        if 200 <= answer.status < 300:
            return None
        words = f"{answer.status} {answer.words}".rstrip()
        if answer.status in _REFUSED and content["items"]:
            return words
        if answer.status in _PASSING or answer.status >= 500:
            raise Unavailable(f"{self.address} answered {words}")
        redirects = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
        raise UsageError(f"{self.address} answered {words}{redirects}: check the sink's URL and its secret")

    def _post(self, id: str, body: bytes) -> _Answer:
        connection = self._connection()
        try:
            connection.request("POST", self._target, body, self._headers(id, body))
            answer = connection.getresponse()
            words = answer.read(_READ_BYTES).decode("utf-8", "replace")
            return _Answer(answer.status, " ".join(words.split())[:200])
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{self.address}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_ANSWER_S)
        return http.client.HTTPSConnection(host, port, timeout=_ANSWER_S, context=ssl.create_default_context())

    def _headers(self, id: str, body: bytes) -> dict[str, str]:
        at = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"shoal/{__version__}",
            "Idempotency-Key": id,
            "Webhook-Id": id,
            "Webhook-Timestamp": str(at),
        }
        if self._secret is not None:
            headers["Webhook-Signature"] = signature(self._secret, id, at, body)
        if self._parts.username is not None:
            pair = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        return headers


def _rows(address: str, options: Options) -> int:
    text = options.get("rows", str(_ROWS))
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_ROWS:
        raise UsageError(f"sink {address}: rows={text} is no number from 1 to {_MOST_ROWS}")
    return int(text)
