"""Calls for jobs: submit, append URLs, change, pause, resume, cancel, wait and remove."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from shoal.client.responses.jobs import (
    Appended,
    Changed,
    Job,
    Scraped,
    Series,
    SeriesPoint,
    Size,
    StillScraping,
    Submitted,
)
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
        """Submits a job; options are the fields of `POST /jobs`. With your own key, a program that is restarted does
        not create a second job. None in `urls` stands for a line of a list without a URL. With `urls_follow` a job
        without URLs waits for appended ones; otherwise it needs a URL, or a spider or rules with start URLs."""
        given = list(urls)
        if not given and not urls_follow and options.keys().isdisjoint(("rules", "spider", "scrapy")):
            raise UsageError("there is no URL to start from: give one, or set urls_follow=True and append them")
        named = {"urls": given} if given or urls_follow else {}
        return cast(Submitted, self._post("/jobs", {**named, **options}, key))

    def append(self, id: str, urls: Iterable[str]) -> Appended:
        """Appends any number of URLs, in batches; a job that has ended continues with them.

        If a batch fails, the earlier ones are kept: sent again, they count as duplicates.
        """
        remaining, sent = iter(urls), 0
        total: Appended = {"id": id, "accepted": 0, "duplicates": 0, "rejected": [], "rejected_count": 0}
        while some := list(islice(remaining, BATCH)):
            answer = cast(Appended, self._post(f"/jobs/{quoted(id)}/urls", some))
            total["accepted"] += answer["accepted"]
            total["duplicates"] += answer["duplicates"]
            total["rejected_count"] += answer["rejected_count"]
            total["rejected"] += [{**bad, "line": bad["line"] + sent} for bad in answer["rejected"]]
            sent += len(some)
        return total

    def append_lines(self, id: str, lines: Iterable[bytes], *, column: str | None = None) -> Appended:
        """Streams the content of a list file, in pieces of any size; it is CSV if a column is given.

        A stream can be read only once, so it is not retried; if it is interrupted, most lines sent so far are kept.
        """
        media = "text/plain" if column is None else "text/csv"
        path = f"/jobs/{quoted(id)}/urls{query_of({'column': column})}"
        return cast(Appended, self._decoded(self._send("POST", path, lines, {"Content-Type": media})))

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
        """The job's options, without secrets; by id, id prefix, name or "last"."""
        return self._get(f"/jobs/{quoted(name)}/spec")

    def overview(self, id: str) -> dict[str, Any]:
        """Everything about a job, with its failures by kind and host, without secrets."""
        return self._get(f"/jobs/{quoted(id)}/overview")

    def quality(self, id: str) -> dict[str, list[dict[str, Any]]]:
        """The quality of its items per field: `now`, and in the run `before`."""
        return self._get(f"/jobs/{quoted(id)}/quality")

    def series(self, id: str) -> list[SeriesPoint]:
        """How the job went over time, oldest first."""
        return cast(Series, self._get(f"/jobs/{quoted(id)}/series"))["points"]

    def size(self, id: str) -> Size:
        """How much the job has stored; reads all its rows."""
        return cast(Size, self._get(f"/jobs/{quoted(id)}/size"))

    def shape(self, id: str) -> dict[str, Any]:
        """Pages by depth and size, the slowest hosts, and which pages and hosts led to which."""
        return self._get(f"/jobs/{quoted(id)}/shape")

    def change(self, id: str, *, version: int | None = None, **changes: Any) -> int:
        """Changes fields of `PATCH /jobs/{id}`; with a version, only if the job is still at it. Returns the new one."""
        return int(self._change("PATCH", f"/jobs/{quoted(id)}{query_of({'version': version})}", changes)["version"])

    def preview(self, id: str, **changes: Any) -> Changed:
        """How many queued URLs `change` would drop; changes nothing."""
        return cast(Changed, self._change("PATCH", f"/jobs/{quoted(id)}?preview=true", changes))

    def wait(self, id: str, timeout_s: float | None = None) -> Job:
        """Waits until the job has ended. Raises TimeoutError."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        wait_s = LOOK_EVERY_S[0]
        while (job := self.job(id))["state"] not in ENDED:
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(
                    f"job {id} is {job['state']} after {timeout_s:g} s; {job['limiting'] or 'it continues'}"
                )
            left_s = wait_s if until is None else max(0.0, until - time.monotonic())
            time.sleep(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, LOOK_EVERY_S[1])
        return job

    def pause(self, id: str) -> str:
        """Returns a message about the effect, as `resume` and `cancel` do."""
        return self._steer(id, "pause")

    def resume(self, id: str) -> str:
        return self._steer(id, "resume")

    def cancel(self, id: str) -> str:
        return self._steer(id, "cancel")

    def remove(self, id: str, confirm: str | None = None) -> None:
        """Removes a job that has ended, with all its data. With a name or "last", `confirm` must be the job's id."""
        self._change("DELETE", f"/jobs/{quoted(id)}{query_of({'confirm': confirm})}")

    def scrape(
        self,
        url: str,
        *formats: str,
        rules: Mapping[str, Any] | None = None,
        timeout_s: float = 30,
        render: str | None = None,
        rendering: Mapping[str, Any] | None = None,
    ) -> Scraped | StillScraping:
        """Fetches one page now. If it takes longer than `timeout_s`, returns only the job's `id` and `state`. `render`
        and `rendering` are those of a job: whether a browser loads the page, and what it does there."""
        order: dict[str, Any] = {"url": url, "timeout_s": timeout_s}
        order |= {"formats": formats} if formats else {}
        order |= {"rules": rules} if rules is not None else {}
        order |= {"render": render} if render is not None else {}
        order |= {"rendering": dict(rendering)} if rendering is not None else {}
        return cast(Scraped | StillScraping, self._post("/scrape", order))

    def _steer(self, id: str, verb: str) -> str:
        return str(self._change("POST", f"/jobs/{quoted(id)}/{verb}")["detail"])
