"""Loads the pool of proxies that a job names or lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shoal.engine.proxies.job_exits import JobExits
from shoal.engine.proxies.learn_rows import learn_rows
from shoal.engine.proxies.shared_limits import SharedLimits
from shoal.errors import UsageError
from shoal.fetch.proxies.pool import ProxyPool
from shoal.model import JobSpec, Render
from shoal.model.proxy_list import POOL_NAME, Proxy, cost_limit, read_proxies, with_secrets
from shoal.store.proxies.costs import cost_since
from shoal.store.proxies.figures import load_proxy_figures, pool_of_job
from shoal.store.proxies.pools import load_proxy_list, proxy_list_names
from shoal.store.results.job_figures import spent_by
from shoal.store.store import Store


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What the settings of a process say about proxies."""

    pools: Mapping[str, str] = field(default_factory=dict)
    """Name -> list of proxies."""
    secrets: Mapping[str, str] = field(default_factory=dict)


def load_exits(
    spec: JobSpec, job: str, store: Store, settings: ProxySettings, limits: SharedLimits | None = None
) -> JobExits | None:
    """None for a job without proxies. `limits`: those of its proxies hold over other processes too.
    Raises UsageError."""
    pool = load_pool(spec, job, store, settings)
    if pool is None:
        return None
    limit = pool.spending.limit
    if limit is not None:
        pool.spending.note_saved(0.0, cost_since(store, pool.name, limit.begins(datetime.now(UTC))))
    learn_rows([pool], load_proxy_figures(store, pool.name))
    return JobExits(pool, spent_by(store, job), limits)


def load_pool(spec: JobSpec, job: str, store: Store | None, settings: ProxySettings) -> ProxyPool | None:
    """None for a job without proxies. Without a store, only the settings have pools. Raises UsageError."""
    if not spec.has_proxies:
        return None
    name, text = pool_name(spec, job), ""
    if spec.proxy_pool is not None:
        is_name = POOL_NAME.fullmatch(spec.proxy_pool)
        text = named_list(spec.proxy_pool, store, settings) if is_name else spec.proxy_pool
    proxies = with_secrets(read_proxies("\n".join([text, *spec.proxies])), settings.secrets)
    pool = ProxyPool(
        name,
        proxies if spec.render is Render.NEVER else _for_browsers(name, proxies),
        region=spec.region or "",
        sticky=spec.sticky_proxy,
        direct_fallback=spec.direct_fallback,
    )
    pool.spending.limit = cost_limit(text)
    return pool


def _for_browsers(name: str, proxies: list[Proxy]) -> list[Proxy]:
    usable = [proxy for proxy in proxies if proxy.carries_browsers]
    if not usable:
        raise UsageError(
            f"no proxy of {name} can be used for rendering: give one over http or socks5, or crawl with --render never"
        )
    return usable


def pool_name(spec: JobSpec, job: str) -> str:
    """Under which name the figures of its proxies are kept. A job that lists its own proxies has a pool of its own."""
    return spec.proxy_pool if spec.proxy_pool and POOL_NAME.fullmatch(spec.proxy_pool) else pool_of_job(job)


def named_list(name: str, store: Store | None, settings: ProxySettings) -> str:
    """Raises UsageError."""
    text = settings.pools.get(name) or (store and load_proxy_list(store, name))
    if text:
        return text
    names = sorted({*settings.pools, *(proxy_list_names(store) if store else ())})
    there = f"there are: {', '.join(names)}" if names else "there is none"
    raise UsageError(f"no pool of proxies is named {name}, and no file; {there}. Add it with `shoal proxies add`")
