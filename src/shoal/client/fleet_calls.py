"""Calls for the fleet: hosts, exclusions, workers, schedules and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from shoal.client.responses.fleet import Exclusions, Host, Schedule, Stats, Token, Worker
from shoal.client.responses.jobs import Series, SeriesPoint
from shoal.client.responses.proxies import ProxyPool, ProxyPoolSummary
from shoal.client.transport import Transport, query_of, quoted


class FleetCalls(Transport):
    def hosts(self) -> Iterator[Host]:
        """Hosts that were used lately or have an operator's override, by name."""
        return cast(Iterator[Host], self._parts("/hosts", "hosts", {}))

    def host(self, name: str) -> Host:
        return cast(Host, self._get(f"/hosts/{quoted(name)}"))

    def change_host(self, host: str, **changes: Any) -> Host:
        """Sets `rate` (None: each job's own rate again) and `paused`; fields that are left out do not change."""
        return cast(Host, self._change("PATCH", f"/hosts/{quoted(host)}", changes))

    def exclusions(self) -> Exclusions:
        """What no job of the fleet may request."""
        return cast(Exclusions, self._get("/exclusions"))

    def set_exclusions(self, lines: Iterable[str], *, version: int | None = None) -> Exclusions:
        """Replaces all exclusions. With a version, only if they are still at that version."""
        path = f"/exclusions{query_of({'version': version})}"
        return cast(Exclusions, self._change("PUT", path, {"lines": list(lines)}))

    def proxy_pools(self) -> list[ProxyPoolSummary]:
        return list(self._get("/proxies")["pools"])

    def proxy_pool(self, name: str) -> ProxyPool:
        """How each proxy of a pool works."""
        return cast(ProxyPool, self._get(f"/proxies/{quoted(name)}"))

    def set_proxy_pool(self, name: str, text: str) -> ProxyPool:
        """Keeps a list of proxies, one on a line, or replaces it. Passwords are written {secret:NAME}."""
        return cast(ProxyPool, self._change("PUT", f"/proxies/{quoted(name)}", {"text": text}))

    def remove_proxy_pool(self, name: str) -> None:
        self._change("DELETE", f"/proxies/{quoted(name)}")

    def workers(self) -> list[Worker]:
        return list(self._get("/workers")["workers"])

    def stats(self) -> Stats:
        """A summary of the fleet."""
        return cast(Stats, self._get("/stats"))

    def fleet_series(self) -> list[SeriesPoint]:
        """How all jobs went over the last 24 hours, oldest first."""
        return cast(Series, self._get("/series"))["points"]

    def schedules(self) -> list[Schedule]:
        return list(self._get("/schedules")["schedules"])

    def schedule(self, name: str) -> Schedule:
        """By name or id."""
        return cast(Schedule, self._get(f"/schedules/{quoted(name)}"))

    def add_schedule(self, name: str, cron: str, job: Mapping[str, Any], **about: Any) -> Schedule:
        """`job` has the fields of `POST /jobs`; `about` may be `zone` and `overlap`."""
        order = {"name": name, "cron": cron, "job": job, **about}
        return cast(Schedule, self._post("/schedules", order))

    def change_schedule(self, name: str, **changes: Any) -> Schedule:
        """Sets `cron`, `zone`, `overlap`, `paused` or `job`; fields that are left out do not change."""
        return cast(Schedule, self._change("PATCH", f"/schedules/{quoted(name)}", changes))

    def run_schedule(self, name: str) -> Schedule:
        """Starts its job now; the first entry of its `runs` is this run."""
        return cast(Schedule, self._post(f"/schedules/{quoted(name)}/run", None))

    def remove_schedule(self, name: str) -> None:
        """The jobs that it has started stay."""
        self._change("DELETE", f"/schedules/{quoted(name)}")

    def tokens(self) -> list[Token]:
        return list(self._get("/tokens")["tokens"])

    def add_token(self, name: str, scope: str) -> str:
        """Returns the secret token, which is not shown again."""
        return str(self._change("POST", "/tokens", {"name": name, "scope": scope})["token"])

    def change_token(self, name: str, scope: str) -> Token:
        """By name or id."""
        return cast(Token, self._change("PATCH", f"/tokens/{quoted(name)}", {"scope": scope}))

    def remove_token(self, name: str) -> None:
        """The API refuses the token from then on."""
        self._change("DELETE", f"/tokens/{quoted(name)}")
