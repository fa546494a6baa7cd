"""Calls about the fleet: hosts, exclusions, workers, schedules and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from shoal.client.told import Exclusions, Host, Schedule, Stats, Token, Worker
from shoal.client.transport import Transport, query_of, quoted


class FleetCalls(Transport):
    def hosts(self) -> Iterator[Host]:
        """By name, those that were asked for something lately or that an operator has a word on."""
        return cast(Iterator[Host], self._parts("/hosts", "hosts", {}))

    def host(self, name: str) -> Host:
        return cast(Host, self._get(f"/hosts/{quoted(name)}"))

    def change_host(self, host: str, **said: Any) -> Host:
        """`rate` (None: each job's own again) and `paused`; what is left out stays as it is."""
        return cast(Host, self._change("PATCH", f"/hosts/{quoted(host)}", said))

    def exclusions(self) -> Exclusions:
        """What no job of the fleet may request."""
        return cast(Exclusions, self._get("/exclusions"))

    def set_exclusions(self, lines: Iterable[str], *, version: int | None = None) -> Exclusions:
        """All of them: those that were there before are gone. With a version, only if they still are of it."""
        path = f"/exclusions{query_of({'version': version})}"
        return cast(Exclusions, self._change("PUT", path, {"lines": list(lines)}))

    def workers(self) -> list[Worker]:
        return list(self._get("/workers")["workers"])

    def stats(self) -> Stats:
        """The fleet at a glance."""
        return cast(Stats, self._get("/stats"))

    def schedules(self) -> list[Schedule]:
        return list(self._get("/schedules")["schedules"])

    def schedule(self, name: str) -> Schedule:
        """By its name or id."""
        return cast(Schedule, self._get(f"/schedules/{quoted(name)}"))

    def add_schedule(self, name: str, cron: str, job: Mapping[str, Any], **about: Any) -> Schedule:
        """`job` has the fields of `POST /jobs`; `about` may be `zone` and `overlap`."""
        asked = {"name": name, "cron": cron, "job": job, **about}
        return cast(Schedule, self._post("/schedules", asked))

    def change_schedule(self, name: str, **changes: Any) -> Schedule:
        """`cron`, `zone`, `overlap`, `paused` or `job`; what is left out stays as it is."""
        return cast(Schedule, self._change("PATCH", f"/schedules/{quoted(name)}", changes))

    def run_schedule(self, name: str) -> Schedule:
        """Begins its job now; the first of its `runs` is this one."""
        return cast(Schedule, self._post(f"/schedules/{quoted(name)}/run", None))

    def remove_schedule(self, name: str) -> None:
        """The jobs that it has begun stay."""
        self._change("DELETE", f"/schedules/{quoted(name)}")

    def tokens(self) -> list[Token]:
        return list(self._get("/tokens")["tokens"])

    def add_token(self, name: str, scope: str) -> str:
        """The token itself, which cannot be had again."""
        return str(self._change("POST", "/tokens", {"name": name, "scope": scope})["token"])

    def change_token(self, name: str, scope: str) -> Token:
        """By its name or id."""
        return cast(Token, self._change("PATCH", f"/tokens/{quoted(name)}", {"scope": scope}))

    def remove_token(self, name: str) -> None:
        """Whoever holds it is refused from then on."""
        self._change("DELETE", f"/tokens/{quoted(name)}")
