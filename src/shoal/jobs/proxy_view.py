"""Pools of proxies as people see them: how each proxy works, and which one and which provider is best where."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from shoal.engine.proxies.learn_rows import figures_of
from shoal.errors import UnknownJob, UsageError
from shoal.fetch.proxies.proxy_record import Figures
from shoal.model.proxy_list import Proxy, read_proxies
from shoal.store.jobs import load_job
from shoal.store.proxies.figures import ProxyFigures, load_proxy_figures, pool_of_job, pools_with_figures
from shoal.store.proxies.pools import load_proxy_list, proxy_list_names
from shoal.store.results.columns import iso_time
from shoal.store.store import Store

Record = dict[str, Any]
MOST_HOSTS = 100
"""Hosts in the view of a pool, those with most requests."""


def view_pools(store: Store, settings_pools: Mapping[str, str]) -> list[Record]:
    """Named pools, and those of jobs that list their own proxies."""
    names = {*settings_pools, *proxy_list_names(store), *pools_with_figures(store)}
    return [_summary(view_pool(store, settings_pools, name)) for name in sorted(names)]


def failing_proxies(store: Store, settings_pools: Mapping[str, str], pools: Iterable[str], most: int) -> list[Record]:
    """The used proxies of these pools that succeed least, the worst first."""
    found = [{"pool": pool, **proxy} for pool in pools for proxy in view_pool(store, settings_pools, pool)["proxies"]]
    failed = [proxy for proxy in found if proxy["requests"] and proxy["successes"] < proxy["requests"]]
    return sorted(failed, key=lambda proxy: (proxy["success_share"], -proxy["requests"]))[:most]


def view_pool(store: Store, settings_pools: Mapping[str, str], name: str) -> Record:
    """Raises UsageError for a pool that nobody knows."""
    is_name = name.isprintable()
    rows = load_proxy_figures(store, name) if is_name else []
    text = (settings_pools.get(name) or load_proxy_list(store, name)) if is_name else None
    source = "settings" if name in settings_pools else "store" if text else "job"
    if source == "job" and rows:
        text = _list_of_job(store, name)
    if text is None and not rows:
        raise UsageError(f"there is no pool of proxies named {name!r}: `shoal proxies` lists them")
    listed, error = _read(text) if text else ({}, None)
    overall = {row.proxy: row for row in rows if not row.host}
    names = [*listed, *(proxy for proxy in overall if proxy not in listed)]
    proxies = [_proxy(proxy, listed.get(proxy), overall.get(proxy), time.time()) for proxy in names]
    return {
        "pool": name,
        "source": source,
        "error": error,
        "proxies": proxies,
        "providers": _providers(listed, overall.values()),
        "hosts": _hosts(listed, rows),
    }


def _list_of_job(store: Store, pool: str) -> str | None:
    """None if the job is deleted; what is known about its proxies may stay a while."""
    try:
        spec = load_job(store, pool.removeprefix(pool_of_job(""))).spec
    except UnknownJob:
        return None
    return "\n".join([spec.proxy_pool or "", *spec.proxies])


def _read(text: str) -> tuple[dict[str, Proxy], str | None]:
    """Nobody checks a list in the settings before it is used."""
    try:
        return {proxy.name: proxy for proxy in read_proxies(text)}, None
    except UsageError as error:
        return {}, str(error)


def _summary(pool: Record) -> Record:
    proxies = pool["proxies"]
    requests, successes = (sum(proxy[name] for proxy in proxies) for name in ("requests", "successes"))
    return {
        "pool": pool["pool"],
        "source": pool["source"],
        "error": pool["error"],
        "proxies": len(proxies),
        "cooling": sum(proxy["state"] == "cooling" for proxy in proxies),
        "requests": requests,
        "success_share": _share(successes, requests),
        "bytes": sum(proxy["bytes"] for proxy in proxies),
        "cost": round(sum(proxy["cost"] for proxy in proxies), 6),
    }


def _proxy(name: str, proxy: Proxy | None, row: ProxyFigures | None, now: float) -> Record:
    figures = figures_of(row) if row else Figures()
    is_cooling = row is not None and row.in_a_row > 0 and row.cool_until > now
    state = "new" if row is None else "cooling" if is_cooling else "failed" if row.in_a_row else "works"
    return {
        "proxy": name,
        "region": proxy.region if proxy else "",
        "provider": proxy.provider if proxy else "",
        "tier": proxy.tier if proxy else 1,
        "state": state,
        **_numbers(figures),
        "cooling_until": iso_time(row.cool_until) if row and is_cooling else None,
        "reason": row.reason if row and row.in_a_row else None,
    }


def _numbers(figures: Figures) -> Record:
    return {
        "requests": figures.requests,
        "successes": figures.successes,
        "failures": figures.failures,
        "blocks": figures.blocks,
        "success_share": _share(figures.successes, figures.requests),
        "latency_p50_s": figures.latency_s(0.5),
        "latency_p95_s": figures.latency_s(0.95),
        "bytes": figures.bytes,
        "cost": round(figures.cost, 6),
    }


def _share(successes: int, requests: int) -> float | None:
    return round(successes / requests, 4) if requests else None


def _providers(listed: Mapping[str, Proxy], rows: Iterable[ProxyFigures]) -> list[Record]:
    """Best first."""
    return [{"provider": name, **_numbers(figures)} for name, figures in _by_provider(listed, rows)]


def _by_provider(listed: Mapping[str, Proxy], rows: Iterable[ProxyFigures]) -> list[tuple[str, Figures]]:
    found: dict[str, Figures] = {}
    for row in rows:
        proxy = listed.get(row.proxy)
        found.setdefault(proxy.provider if proxy else "", Figures()).add(figures_of(row))
    return sorted(found.items(), key=lambda one: _rank(one[1]), reverse=True)


def _rank(figures: Figures) -> tuple[float, float]:
    """Few requests prove little: a share counts as if two more had failed."""
    return figures.successes / (figures.requests + 2), -(figures.latency_s(0.5) or 0.0)


def _hosts(listed: Mapping[str, Proxy], rows: Iterable[ProxyFigures]) -> list[Record]:
    by_host: dict[str, list[ProxyFigures]] = {}
    for row in rows:
        if row.host:
            by_host.setdefault(row.host, []).append(row)
    most = sorted(by_host.items(), key=lambda one: -sum(row.requests for row in one[1]))[:MOST_HOSTS]
    return [_host(host, here, listed) for host, here in most]


def _host(host: str, rows: list[ProxyFigures], listed: Mapping[str, Proxy]) -> Record:
    total = Figures()
    for row in rows:
        total.add(figures_of(row))
    best = max(rows, key=lambda row: _rank(figures_of(row)))
    provider, _ = _by_provider(listed, rows)[0]
    return {"host": host, "best_proxy": best.proxy, "best_provider": provider, **_numbers(total)}
