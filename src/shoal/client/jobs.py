"""Calls about one job as a whole: submit, feed, change, steer, follow and remove it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from shoal.client.told import Appended, Job, Scraped, StillScraping, Submitted
from shoal.client.transport import Transport, query_of, quoted
from shoal.errors import UsageError

BATCH = 10_000
"""URLs in one call of `append`."""
ENDED = frozenset({"done", "limited", "cancelled", "failed"})
LOOK_EVERY_S = (0.2, 2.0)
JOBS_AT_ONCE = 100


class JobCalls(Transport):
    def submit(
        self,
        urls: Iterable[str | None] = (),
        *,
        urls_follow: bool = False,
        key: str | None = None,
        **options: Any,
    ) -> Submitted:
        """Options are the fields of `POST /jobs`. With a key of your own, a program that starts anew makes no second
        job. None among the URLs stands for a line of a list that has none. With `urls_follow` a job that has no URL
        waits for those that are appended; otherwise it must have one, or a spider or rules that do."""
        given = list(urls)
        if not given and not urls_follow and options.keys().isdisjoint(("rules", "spider")):
            raise UsageError("there is no URL to start from: give one, or say urls_follow=True and append them")
        named = {"urls": given} if given or urls_follow else {}
        return cast(Submitted, self._post("/jobs", {**named, **options}, key))

    def append(self, id: str, urls: Iterable[str]) -> Appended:
        """Any number of them, some at a time; the job goes on with them if it had ended.

        If it fails half-way, what went before is kept: sent again, it counts as duplicates.
        """
        remaining, sent = iter(urls), 0
        total: Appended = {"id": id, "accepted": 0, "duplicates": 0, "rejected": [], "rejected_count": 0}
        while some := list(islice(remaining, BATCH)):
            told = cast(Appended, self._post(f"/jobs/{quoted(id)}/urls", some))
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
        path = f"/jobs/{quoted(id)}/urls{query_of({'column': column})}"
        return cast(Appended, self._told(self._send("POST", path, lines, {"Content-Type": media})))

    def job(self, id: str) -> Job:
        return cast(Job, self._get(f"/jobs/{quoted(id)}"))

    def jobs(
        self,
        *,
        state: str | None = None,
        lane: str | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Job]:
        """Newest first, at most `limit`."""
        at_once = JOBS_AT_ONCE if limit is None else min(limit, JOBS_AT_ONCE)
        found = self._parts("/jobs", "jobs", {"state": state, "lane": lane, "name": name}, at_once)
        return cast(Iterator[Job], islice(found, limit))

    def spec(self, name: str) -> dict[str, Any]:
        """What a job was asked to do, without its secrets; by its id, the beginning of one, or "last"."""
        return self._get(f"/jobs/{quoted(name)}/spec")

    def overview(self, id: str) -> dict[str, Any]:
        """Everything about a job at once, with its failures by kind and host, and without its secrets."""
        return self._get(f"/jobs/{quoted(id)}/overview")

    def quality(self, id: str) -> dict[str, list[dict[str, Any]]]:
        """How good its items are field by field, `now`, and in the last run `before` it."""
        return self._get(f"/jobs/{quoted(id)}/quality")

    def change(self, id: str, *, version: int | None = None, **changes: Any) -> int:
        """Fields of `PATCH /jobs/{id}`; with a version, only if the job still is of it. Gives the new version."""
        return int(self._change("PATCH", f"/jobs/{quoted(id)}{query_of({'version': version})}", changes)["version"])

    def preview(self, id: str, **changes: Any) -> dict[str, Any]:
        """What `change` would drop of what is queued; nothing is changed."""
        return cast(dict[str, Any], self._change("PATCH", f"/jobs/{quoted(id)}?preview=true", changes))

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

    def pause(self, id: str) -> str:
        """Says in words what comes of it, as `resume` and `cancel` do."""
        return self._steer(id, "pause")

    def resume(self, id: str) -> str:
        return self._steer(id, "resume")

    def cancel(self, id: str) -> str:
        return self._steer(id, "cancel")

    def remove(self, id: str) -> None:
        """A job that has ended, with all its data."""
        self._change("DELETE", f"/jobs/{quoted(id)}")

    def scrape(
        self, url: str, *formats: str, rules: Mapping[str, Any] | None = None, timeout_s: float = 30
    ) -> Scraped | StillScraping:
        """One page now. What takes longer than `timeout_s` is answered with the job's `id` and `state` alone."""
        asked: dict[str, Any] = {"url": url, "timeout_s": timeout_s}
        asked |= {"formats": formats} if formats else {}
        asked |= {"rules": rules} if rules is not None else {}
        return cast(Scraped | StillScraping, self._post("/scrape", asked))

    def _steer(self, id: str, verb: str) -> str:
        return str(self._change("POST", f"/jobs/{quoted(id)}/{verb}")["detail"])
