"""The operator's exclusions and words on hosts over HTTP: kept in the store, and told to everybody."""

from __future__ import annotations

import pytest

from shoal.store.fleet.host_overrides import HostOverride, stored_overrides
from shoal.store.fleet.tokens import TokenScope
from tests.control.calling import Api, problem
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"


def test_exclusions_are_set_as_a_whole_and_every_job_gets_a_later_edition(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL, f"{URL}b", politeness={"rate": 0})
    fleet.begin(id)
    (first, _) = fleet.lease()
    fleet.by_hand(lambda opened: opened.frontier.reap(all_leases=True))
    lines = ["# ours", "example.org", "https://example.com/private/"]
    assert api("PUT", "/exclusions", {"lines": lines}).get_json() == {"version": 1, "lines": lines}
    assert api.get("/exclusions", scope=TokenScope.READ) == {"version": 1, "lines": lines}
    assert fleet.lease()[0].edition > first.edition
    told = api.get(f"/jobs/{id}/explain?url=https://example.com/private/x")
    assert told["reason"] == "operator"
    assert "the operator" in fleet("explain", id, "https://example.com/private/x").out
    assert api("PUT", "/exclusions", {"lines": []}).status_code == 200
    assert api.get("/exclusions") == {"version": 2, "lines": []}


@pytest.mark.parametrize("line", ["exa mple/x", "re:(", "a\nb", "x" * 3000])
def test_an_invalid_exclusion_is_refused_and_the_old_list_stays(api: Api, line: str) -> None:
    assert api("PUT", "/exclusions", {"lines": ["example.org"]}).status_code == 200
    problem(api("PUT", "/exclusions", {"lines": ["example.net", line]}), 422)
    assert api.get("/exclusions") == {"version": 1, "lines": ["example.org"]}


def test_the_second_of_two_concurrent_writers_gets_a_conflict(api: Api) -> None:
    seen = api.get("/exclusions")["version"]
    path = f"/exclusions?version={seen}"
    first, second = (api("PUT", path, {"lines": [line]}) for line in ("example.org", "example.net"))
    assert first.get_json() == {"version": seen + 1, "lines": ["example.org"]}
    assert f"version {seen}" in problem(second, 409)["detail"]
    assert api.get("/exclusions")["lines"] == ["example.org"]


def test_only_an_admin_excludes(api: Api) -> None:
    problem(api("PUT", "/exclusions", {"lines": []}, scope=TokenScope.SUBMIT), 403)


def test_a_host_override_is_stored_until_it_is_empty(api: Api, fleet: FleetShell) -> None:
    fleet.begin(api.submit(URL))
    fleet.lease()
    assert api("PATCH", "/hosts/example.com", {"rate": 0.5, "paused": True}).status_code == 200
    assert stored_overrides(api.bridge.store) == [HostOverride("example.com", 0.5, True)]
    assert fleet("hosts", "example.com", "--unpause").code == 0
    assert stored_overrides(api.bridge.store) == [HostOverride("example.com", 0.5, False)]
    assert fleet("hosts", "example.com", "--rate", "default").code == 0
    assert stored_overrides(api.bridge.store) == []
