"""The API from Python: submit, append, follow, read and export jobs, without knowing HTTP.

    from shoal.client import Client

    with Client("http://127.0.0.1:8000", token) as shoal:
        job = shoal.submit(["https://example.com/"], scope="host", limits={"pages": 100})
        shoal.wait(job["id"], timeout_s=600)
        for page in shoal.pages(job["id"]):
            print(page["url"], page["status"])

A call that is answered with 429 or 503, or not at all, is tried again for a while where that cannot do harm: what is
read, and what carries an Idempotency-Key, which every submit does. One client is for one thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, cast
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from shoal.errors import ApiError, Unavailable, UsageError

API = "/api/v1"
BATCH = 10_000
"""URLs in one call of `append`."""
FORMATS = ("jsonl", "csv", "parquet")
ENDED = frozenset({"done", "limited", "cancelled", "failed"})
IDLE_S = 5.0
"""A connection that was idle for longer may be closed already, and a call on it would be sent in vain."""
LOOK_EVERY_S = (0.2, 2.0)
RETRY_S = (0.5, 5.0)
_BLOCK = 1 << 16
_BUSY = (429, 503)


class Rejected(TypedDict, total=False):
    """A URL that was not taken; `line` is its place among those appended."""

    line: int
    url: str
    reason: str


class Submitted(TypedDict):
    id: str
    name: str
    state: str
    accepted: int
    duplicates: int
    rejected: list[Rejected]
    rejected_count: int


class Appended(TypedDict):
    id: str
    accepted: int
    duplicates: int
    rejected: list[Rejected]
    rejected_count: int


class Job(TypedDict):
    """A job's figures; `limiting` says in words what it waits for."""

    id: str
    name: str
    state: str
    lane: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    found: int
    queued: int
    leased: int
    pages: int
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    items: int
    bytes: int
    by_status: dict[str, int]
    hosts: int
    archive_bytes: int
    unarchived: int
    limiting: str | None
    traps: list[dict[str, Any]]
    overrides: list[str]
    user_agent: str
    version: int
    webhook: dict[str, Any] | None


class Client:
    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0, patience_s: float = 60.0) -> None:
        """`timeout_s` is for a server that is silent; `patience_s` for how long a call is tried again."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(f"{url!r} is no URL of an API: give it as http://HOST:PORT")
        self.url = url.rstrip("/")
        self._root = parts.path.rstrip("/").removesuffix(API) + API
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=timeout_s)
        self._token = token
        self._patience_s = patience_s
        self._used_at = 0.0

    def submit(self, urls: Iterable[str] = (), *, key: str | None = None, **options: Any) -> Submitted:
        """Options are the fields of `POST /jobs`. With a key of your own, a program that starts anew makes no second
        job."""
        return cast(Submitted, self._post("/jobs", {"urls": list(urls), **options}, key or uuid4().hex))

    def append(self, id: str, urls: Iterable[str]) -> Appended:
        """Any number of them, some at a time; the job goes on with them if it had ended."""
        remaining, sent = iter(urls), 0
        total: Appended = {"id": id, "accepted": 0, "duplicates": 0, "rejected": [], "rejected_count": 0}
        while some := list(islice(remaining, BATCH)):
            told = cast(Appended, self._post(f"/jobs/{_quoted(id)}/urls", some, uuid4().hex))
            total["accepted"] += told["accepted"]
            total["duplicates"] += told["duplicates"]
            total["rejected_count"] += told["rejected_count"]
            total["rejected"] += [{**bad, "line": bad["line"] + sent} for bad in told["rejected"]]
            sent += len(some)
        return total

    def append_lines(self, id: str, lines: Iterable[bytes], *, column: str | None = None) -> Appended:
        """A list as a file has it, in pieces of any size, as one stream; CSV if a column is named.

        It comes only once, so it is not tried again: of what breaks off, most lines that had come are kept.
        """
        media = "text/plain" if column is None else "text/csv"
        path = f"/jobs/{_quoted(id)}/urls{_query({'column': column})}"
        return cast(Appended, self._told(self._send("POST", path, lines, {"Content-Type": media})))

    def job(self, id: str) -> Job:
        return cast(Job, self._get(f"/jobs/{_quoted(id)}"))

    def jobs(self, *, state: str | None = None, lane: str | None = None, name: str | None = None) -> Iterator[Job]:
        """Newest first."""
        return cast(Iterator[Job], self._parts("/jobs", "jobs", {"state": state, "lane": lane, "name": name}, 100))

    def pages(self, id: str, *, status: int | None = None, host: str | None = None) -> Iterator[dict[str, Any]]:
        return self._parts(f"/jobs/{_quoted(id)}/pages", "pages", {"status": status, "host": host})

    def items(self, id: str, *, type: str | None = None) -> Iterator[dict[str, Any]]:
        return self._parts(f"/jobs/{_quoted(id)}/items", "items", {"type": type})

    def dead(
        self, id: str, *, reason: str | None = None, status: int | None = None, host: str | None = None
    ) -> Iterator[dict[str, Any]]:
        where = {"reason": reason, "status": status, "host": host}
        return self._parts(f"/jobs/{_quoted(id)}/dead", "dead", where)

    def retry(self, id: str, **where: Any) -> int:
        """Tries dead letters again, all or those of a reason, status or host; says how many they are."""
        return int(self._post(f"/jobs/{_quoted(id)}/dead/retry", where, uuid4().hex)["retried"])

    def wait(self, id: str, timeout_s: float | None = None) -> Job:
        """Until the job has ended. Raises TimeoutError."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        wait_s = LOOK_EVERY_S[0]
        while (job := self.job(id))["state"] not in ENDED:
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(
                    f"job {id} is {job['state']} after {timeout_s:g} s; {job['limiting'] or 'it goes on'}"
                )
            left_s = wait_s if until is None else max(0.0, until - time.monotonic())
            time.sleep(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, LOOK_EVERY_S[1])
        return job

    def export(self, id: str, path: str | Path, *, what: str | None = None) -> int:
        """Items, pages or inputs into a .jsonl, .csv or .parquet file, which is there when it is whole; its bytes."""
        to = Path(path)
        format = to.suffix.removeprefix(".").lower()
        if format not in FORMATS:
            raise UsageError(f"{to.name}: give it an ending of {', '.join('.' + name for name in FORMATS)}")
        part = to.with_name(to.name + ".part")
        try:
            with part.open("wb") as file:
                for block in self.exported(id, format, what=what):
                    file.write(block)
            part.replace(to)
        finally:
            part.unlink(missing_ok=True)
        return to.stat().st_size

    def exported(self, id: str, format: str = "jsonl", *, what: str | None = None) -> Iterator[bytes]:
        answer = self._answer("GET", f"/jobs/{_quoted(id)}/export{_query({'format': format, 'what': what})}")
        if answer.status != 200:
            raise self._error(answer)
        while block := self._read(answer, _BLOCK):
            yield block

    def pause(self, id: str) -> str:
        """Says in words what comes of it, as `resume` and `cancel` do."""
        return self._steer(id, "pause")

    def resume(self, id: str) -> str:
        return self._steer(id, "resume")

    def cancel(self, id: str) -> str:
        return self._steer(id, "cancel")

    def remove(self, id: str) -> None:
        """A job that has ended, with all its data."""
        self._told(self._send("DELETE", f"/jobs/{_quoted(id)}"))

    def explain(self, id: str, url: str) -> dict[str, Any]:
        return self._get(f"/jobs/{_quoted(id)}/explain{_query({'url': url})}")

    def scrape(self, url: str, *formats: str, rules: Mapping[str, Any] | None = None, timeout_s: float = 30) -> Any:
        """One page now. What takes longer than `timeout_s` is answered with the job's `id` and `state` alone."""
        asked: dict[str, Any] = {"url": url, "timeout_s": timeout_s}
        asked |= {"formats": formats} if formats else {}
        asked |= {"rules": rules} if rules is not None else {}
        return self._told(self._send("POST", "/scrape", json.dumps(asked).encode(), _JSON))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _steer(self, id: str, verb: str) -> str:
        return str(self._told(self._send("POST", f"/jobs/{_quoted(id)}/{verb}"))["detail"])

    def _parts(self, path: str, name: str, where: Mapping[str, Any], limit: int = 1000) -> Iterator[Any]:
        cursor = None
        while True:
            told = self._get(path + _query({**where, "limit": limit, "cursor": cursor}))
            yield from told[name]
            cursor = told["next"]
            if cursor is None:
                return

    def _get(self, path: str) -> dict[str, Any]:
        return dict(self._told(self._answer("GET", path)))

    def _post(self, path: str, body: Any, key: str) -> Any:
        headers = {**_JSON, "Idempotency-Key": key}
        return self._told(self._answer("POST", path, json.dumps(body).encode(), headers))

    def _answer(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> HTTPResponse:
        """As `_send`, but again and again while the server is busy or away, for as long as patience lasts."""
        until, wait_s = time.monotonic() + self._patience_s, RETRY_S[0]
        while True:
            try:
                answer = self._send(method, path, body, headers)
            except Unavailable:
                if time.monotonic() + wait_s > until:
                    raise
            else:
                asked_s = float(answer.headers.get("Retry-After", "0")) if answer.status in _BUSY else 0.0
                if not asked_s or time.monotonic() + asked_s > until:
                    return answer
                answer.read()
                wait_s = asked_s
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_S[1])

    def _send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> HTTPResponse:
        if time.monotonic() - self._used_at > IDLE_S:
            self._connection.close()
        given = {"Authorization": f"Bearer {self._token}", **headers}
        try:
            self._connection.request(method, self._root + path, body, given, encode_chunked=_is_stream(body))
            answer = self._connection.getresponse()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise self._away(error) from error
        self._used_at = time.monotonic()
        return answer

    def _read(self, answer: HTTPResponse, most: int | None = None) -> bytes:
        try:
            return answer.read(most)
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise self._away(error) from error

    def _told(self, answer: HTTPResponse) -> Any:
        if answer.status >= 400:
            raise self._error(answer)
        text = self._read(answer)
        return json.loads(text) if text else None

    def _error(self, answer: HTTPResponse) -> ApiError:
        text = self._read(answer)
        try:
            problem = json.loads(text)
        except ValueError:
            # Not from the API: from a proxy before it, perhaps.
            problem = {"detail": f"the answer of {self.url} was {answer.status} {answer.reason}"}
        return ApiError(answer.status, problem)

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(f"the API at {self.url} does not answer: {error or type(error).__name__}")


_JSON = {"Content-Type": "application/json"}


def _is_stream(body: Any) -> bool:
    return body is not None and not isinstance(body, bytes)


def _quoted(id: str) -> str:
    return quote(id, safe="")


def _query(given: Mapping[str, Any]) -> str:
    asked = {name: value for name, value in given.items() if value is not None}
    return f"?{urlencode(asked)}" if asked else ""
