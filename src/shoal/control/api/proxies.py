"""Pools of proxies: an admin keeps them, and sees how each proxy works. No answer has a password in it."""

from __future__ import annotations

from shoal.client.responses.proxies import ProxyPool, ProxyPoolList
from shoal.control.async_bridge import bridge
from shoal.control.models.proxies import ProxyListGiven
from shoal.control.problems import Problem
from shoal.control.routes import ADMIN, Reply, Routes
from shoal.errors import UsageError
from shoal.jobs.proxy_view import view_pool, view_pools
from shoal.store.proxies.pools import remove_pool, save_proxy_list

routes = Routes("proxies")


@routes.get("/proxies", ADMIN, answers={200: ProxyPoolList})
def proxy_pools() -> Reply:
    """List the pools of proxies: those of the settings, those of the store, and those of jobs that list their own."""
    return {"pools": view_pools(bridge().store, bridge().settings.proxies)}


@routes.get("/proxies/<pool>", ADMIN, answers={200: ProxyPool})
def proxy_pool(pool: str) -> Reply:
    """Show how each proxy of a pool works, and which proxy and provider is best at each host."""
    try:
        return view_pool(bridge().store, bridge().settings.proxies, pool)
    except UsageError as error:
        raise Problem(404, str(error)) from error


@routes.put("/proxies/<pool>", ADMIN, answers={200: ProxyPool}, body=ProxyListGiven)
def set_proxy_pool(pool: str, body: ProxyListGiven) -> Reply:
    """Keep a list of proxies under this name, or replace it. Jobs name it as `proxy_pool`."""
    try:
        body.check(pool)
    except UsageError as error:
        raise Problem(422, str(error)) from error
    save_proxy_list(bridge().store, pool, body.text)
    return view_pool(bridge().store, bridge().settings.proxies, pool)


@routes.delete("/proxies/<pool>", ADMIN, answers={204: None})
def remove_proxy_pool(pool: str) -> Reply:
    """Remove a pool of the store, and what is known about its proxies. Jobs that run keep their proxies."""
    if not remove_pool(bridge().store, pool):
        raise Problem(404, f"there is no pool of proxies named {pool!r}")
    return None
