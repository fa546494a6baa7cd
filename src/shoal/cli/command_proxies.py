"""The proxies of requests that a command makes itself, without a job: one page, or robots.txt of a dry run."""

from __future__ import annotations

from shoal.cli.session import Session
from shoal.engine.proxies.load_pool import ProxySettings, load_pool
from shoal.errors import UsageError
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.proxies.pool import ProxyPool
from shoal.model import JobSpec
from shoal.model.proxy_list import POOL_NAME, PROVIDER
from shoal.settings import Settings
from shoal.store.store import Store


def command_pool(session: Session, spec: JobSpec) -> ProxyPool | None:
    """None for options without proxies. Creates no home. Raises UsageError, and never leaves a pool out."""
    settings = session.settings
    known = ProxySettings(settings.proxies, settings.secrets)
    name = spec.proxy_pool or ""
    if name in settings.proxies or not POOL_NAME.fullmatch(name):
        return load_pool(spec, "", None, known)
    if settings.api_url:
        raise UsageError(f"only the fleet knows the pool {name}, and this command uses proxies here: give its file")
    if not _has_database(settings):
        return load_pool(spec, "", None, known)
    with Store.open(settings.database_url or settings.home / "shoal.db") as store:
        return load_pool(spec, "", store, known)


def command_exit(session: Session, spec: JobSpec) -> Exit | None:
    """One proxy of those that the options name; None if they name none. Raises UsageError."""
    pool = command_pool(session, spec)
    if pool is None:
        return None
    exit = pool.choose("")
    if not isinstance(exit, Exit):
        raise UsageError(pool.waiting or f"no proxy of {pool.name} can be used now")
    if exit.url.startswith(PROVIDER):
        raise UsageError(f"{exit.name} is a provider, which only a crawl can use: name a proxy for one page")
    return exit


def _has_database(settings: Settings) -> bool:
    return settings.database_url is not None or (settings.home / "shoal.db").exists()
