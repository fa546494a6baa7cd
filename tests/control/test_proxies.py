"""Pools of proxies over the API: for admins, without passwords."""

from __future__ import annotations

import pytest

from shoal.control.metrics import exposition
from shoal.store.fleet.tokens import TokenScope
from shoal.store.proxies.figures import ProxyFigures, add_proxy_figures
from tests.control.calling import Api, problem
from tests.control.prometheus import samples

LIST = "http://ann:{secret:ACME}@gate.example:8000 provider=acme region=de name=gate\nhttp://other.example:3128"
FIGURES = ProxyFigures("europe", "gate", "", 4, 3, 0, 1, 5_000, 0.25, (0, 3, *[0] * 7), 0, 0.0, "", 10.0)


def test_a_pool_is_kept_and_shown_with_its_figures_and_counted_in_metrics(api: Api) -> None:
    assert api.get("/proxies") == {"pools": []}
    problem(api("GET", "/proxies/europe"), 404)
    made = api("PUT", "/proxies/europe", {"text": LIST})
    assert made.status_code == 200 and [proxy["state"] for proxy in made.get_json()["proxies"]] == ["new", "new"]
    add_proxy_figures(api.bridge.store, [FIGURES, FIGURES._replace(host="a.test")])
    pool = api.get("/proxies/europe")
    gate = pool["proxies"][0]
    assert (gate["proxy"], gate["state"], gate["success_share"], gate["latency_p50_s"]) == ("gate", "works", 0.75, 0.1)
    assert [provider["provider"] for provider in pool["providers"]] == ["acme"]
    assert (pool["hosts"][0]["host"], pool["hosts"][0]["best_proxy"]) == ("a.test", "gate")
    assert api.get("/proxies")["pools"][0]["cost"] == 0.25 and "ann" not in str(pool)
    told = samples(exposition(api.bridge).decode())
    assert told["shoal_proxy_requests_total", ("europe", "success")] == 3
    assert told["shoal_proxy_requests_total", ("europe", "block")] == 1
    assert told["shoal_proxy_cost_total", ("europe",)] == 0.25
    assert api("DELETE", "/proxies/europe").status_code == 204
    problem(api("DELETE", "/proxies/europe"), 404)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("europe", "http://ann:hush@a:1", "{secret:NAME}"),
        ("europe", "ftp://a:1", "line 1 of the proxies"),
        ("a b", LIST, "cannot be the name of a pool"),
    ],
)
def test_a_bad_list_is_refused(api: Api, name: str, text: str, why: str) -> None:
    told = problem(api("PUT", f"/proxies/{name}", {"text": text}), 422)
    assert why in told["detail"] and "hush" not in str(told) and api.get("/proxies") == {"pools": []}


@pytest.mark.parametrize("scope", [TokenScope.READ, TokenScope.SUBMIT])
def test_only_an_admin_sees_and_sets_proxies(api: Api, scope: TokenScope) -> None:
    problem(api("GET", "/proxies", scope=scope), 403)
    problem(api("PUT", "/proxies/europe", {"text": LIST}, scope=scope), 403)
