"""Figures of proxies and named lists in the store."""

from __future__ import annotations

from shoal.store.proxies.figures import (
    PoolTotals,
    ProxyFigures,
    add_proxy_figures,
    load_proxy_figures,
    pool_totals,
    pools_with_figures,
    prune_proxy_figures,
)
from shoal.store.proxies.pools import load_proxy_list, proxy_list_names, remove_pool, save_proxy_list
from shoal.store.store import Store

LATENCIES = (0, 3, 0, 0, 0, 0, 0, 0, 1)


def row(pool: str = "europe", host: str = "", cool_until: float = 0.0, updated_at: float = 10.0) -> ProxyFigures:
    in_a_row = int(cool_until > 0)
    return ProxyFigures(
        pool, "p:1", host, 5, 4, 1, 0, 2**33, 0.5, LATENCIES, in_a_row, cool_until, "down" * in_a_row, updated_at
    )


def test_figures_add_up_and_the_newest_state_counts(store: Store) -> None:
    add_proxy_figures(store, [row(), row(host="a.test")])
    add_proxy_figures(store, [row(cool_until=99.0, updated_at=20.0)])
    everywhere, at_host = load_proxy_figures(store, "europe")
    assert (everywhere.requests, everywhere.bytes, everywhere.cost) == (10, 2**34, 1.0)
    assert everywhere.latencies == tuple(2 * n for n in LATENCIES) and at_host.latencies == LATENCIES
    assert everywhere[10:] == (1, 99.0, "down", 20.0) and (at_host.host, at_host.in_a_row) == ("a.test", 0)
    assert load_proxy_figures(store, "europe", since=15.0) == [everywhere]
    add_proxy_figures(store, [row(pool="job j1")])
    assert pools_with_figures(store) == ["europe", "job j1"]
    assert pool_totals(store, 50.0) == [PoolTotals("europe", 8, 2, 0, 2**34, 1.0, 1)]


def test_figures_of_hosts_are_forgotten_when_they_are_old_or_many(store: Store) -> None:
    day = 86_400.0
    hosts = [row(host=f"h{n}.test", updated_at=40 * day + n) for n in range(6)]
    add_proxy_figures(store, [row(updated_at=1.0), row(host="old.test", updated_at=day), *hosts])
    add_proxy_figures(store, [row(pool="other", host="a.test", updated_at=40 * day)])
    prune_proxy_figures(store, 41 * day)
    assert {one.host for one in load_proxy_figures(store, "europe")} == {"", *(f"h{n}.test" for n in range(6))}
    prune_proxy_figures(store, 41 * day, most=2)
    assert {one.host for one in load_proxy_figures(store, "europe")} == {"", "h4.test", "h5.test"}
    assert len(load_proxy_figures(store, "other")) == 1


def test_a_list_is_replaced_and_removed_with_its_figures(store: Store) -> None:
    save_proxy_list(store, "europe", "http://a:1")
    save_proxy_list(store, "europe", "http://b:1")
    add_proxy_figures(store, [row()])
    assert (proxy_list_names(store), load_proxy_list(store, "europe")) == (["europe"], "http://b:1")
    assert remove_pool(store, "europe") and not remove_pool(store, "europe")
    assert load_proxy_list(store, "europe") is None and not load_proxy_figures(store, "europe")
