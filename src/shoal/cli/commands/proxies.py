"""`shoal proxies`: shows how well proxies work, tests them, and keeps named pools."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import asdict
from shutil import get_terminal_size
from typing import Any

import click

from shoal.cli.backends import Record
from shoal.cli.humanize import plural, size
from shoal.cli.job_flags import POOL_OR_FILE, flag
from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe, table
from shoal.errors import UsageError
from shoal.model.proxy_list import POOL_NAME, check_no_password, read_proxies, with_secrets

POOLS = ("proxies", "cooling", "requests", "success", "bytes", "cost", "pool")
PROXIES = ("state", "requests", "success", "blocks", "p50", "p95", "bytes", "cost", "region", "provider", "proxy")
PROVIDERS = ("requests", "success", "blocks", "p50", "cost", "provider")
HOSTS = ("requests", "success", "blocks", "p50", "best provider", "best proxy", "host")
TESTED = ("works", "status", "seconds", "proxy", "detail")
ATTRIBUTES = frozenset({"cost", "region", "provider", "best provider"})
NONE = "–"


class DefaultToShow(click.Group):
    """`shoal proxies europe` shows a pool: any first word that is no command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_command = bool(args) and args[0] in self.commands
        return super().resolve_command(ctx, args if is_command else ["show", *args])


@click.group(cls=DefaultToShow, invoke_without_command=True)
@global_options
@click.pass_context
def proxies(context: click.Context) -> None:
    """Show how well proxies work, test them, and keep named pools.

    \b
    shoal proxies
    shoal proxies europe
    shoal proxies add europe europe.txt
    shoal proxies test europe --url https://example.com/
    """
    if context.invoked_subcommand is None:
        with show.make_context("show", [], parent=context) as inner:
            show.invoke(inner)


@proxies.command(cls=Command)
@click.argument("pool", required=False)
def show(session: Session, pool: str | None = None) -> None:
    """List the pools, or show the proxies of POOL, and which is best at each host.

    A job that lists its own proxies has the pool `job ID`.

    \b
    shoal proxies show
    shoal proxies show europe
    """
    with session.open_proxies() as backend:
        if pool is None:
            _show_pools(session, backend.pools())
        else:
            _show_pool(session, backend.pool(pool))


@proxies.command(cls=Command)
@click.argument("name")
@click.argument("file", type=click.File("r", encoding="utf-8"))
def add(session: Session, name: str, file: Any) -> None:
    """Keep the list of proxies in FILE as the pool NAME, or replace it. - is stdin.

    The list names its passwords, {secret:NAME}, and does not contain them.

    \b
    shoal proxies add europe europe.txt
    shoal crawl https://example.com/ --proxies europe
    """
    if not POOL_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a pool: use letters, digits, _ . and -, at most 64")
    text = file.read()
    found = read_proxies(text)
    check_no_password(found)
    with session.open_proxies() as backend:
        backend.add(name, text)
    if session.json:
        session.data({"pool": name, "proxies": len(found)})
    session.say(f"pool {name} has {plural(len(found), 'proxy')}: shoal crawl URL --proxies {name}")


@proxies.command(cls=Command)
@click.argument("name")
def remove(session: Session, name: str) -> None:
    """Remove the pool NAME, and what is known about its proxies. Jobs that run keep their proxies.

    \b
    shoal proxies remove europe
    """
    with session.open_proxies() as backend:
        backend.remove(name)
    if session.json:
        session.data({"removed": name})
    session.say(f"pool {safe(name)} is removed")


@proxies.command(cls=Command)
@click.argument("pool", type=POOL_OR_FILE, metavar="FILE|NAME")
@click.option("--url", required=True, metavar="URL", help="The page to fetch through each proxy, once.")
@flag("region")
@flag("timeout")
@flag("allow_private")
def test(session: Session, pool: str, url: str, region: str | None, timeout: float, allow_private: bool) -> None:
    """Fetch URL through each proxy of a pool, and report which work. Exit code 4: none does.

    \b
    shoal proxies test europe --url https://example.com/
    """
    text = pool
    if POOL_NAME.fullmatch(pool):
        with session.open_proxies() as backend:
            text = backend.text(pool)
    found = with_secrets(read_proxies(text), session.settings.secrets)
    private = allow_private or session.settings.allow_private
    works = session.run(_test(session, found, url, region or "", timeout, private))
    if not works:
        raise NoProxyWorks("no proxy works")


class NoProxyWorks(UsageError):
    exit_code = 4


async def _test(session: Session, found: list[Any], url: str, region: str, timeout: float, private: bool) -> int:
    # Only here: other commands need no fetcher.
    from shoal.jobs.try_proxies import try_proxies

    works = tried = 0
    rows = []
    trials = try_proxies(found, url, session.settings.user_agent, private, region, timeout)
    async with aclosing(trials):
        async for trial in trials:
            tried, works = tried + 1, works + trial.ok
            if session.json:
                session.data({"type": "proxy_test", **asdict(trial)})
            seconds = f"{trial.latency_s:.2f}"
            status = NONE if trial.status is None else str(trial.status)
            rows.append(("yes" if trial.ok else "no", status, seconds, safe(trial.proxy), safe(trial.detail)))
    if not session.json:
        for line in table(iter(rows), TESTED, get_terminal_size().columns, frozenset({1, 2})):
            session.show(line)
        session.say(f"{works} of {plural(tried, 'proxy')} work{'s' * (works == 1)}")
    return works


def _show_pools(session: Session, pools: list[Record]) -> None:
    if session.json:
        for pool in pools:
            session.data(pool)
    elif not pools:
        session.say(f"there is no pool of proxies yet: {session.command('proxies', 'add', 'NAME', 'FILE')}")
    else:
        rows = (
            (
                *(str(pool["proxies"]), str(pool["cooling"]), f"{pool['requests']:,}", _share(pool["success_share"])),
                *(size(pool["bytes"]), _cost(pool["cost"]), safe(pool["pool"])),
            )
            for pool in pools
        )
        _print(session, rows, POOLS, 6)
        for pool in pools:
            _warn_of(session, pool)


def _show_pool(session: Session, pool: Record) -> None:
    if session.json:
        session.data(pool)
        return
    found = pool["proxies"]
    _warn_of(session, pool)
    _print(session, map(_proxy_row, found), PROXIES, 8)
    for proxy in found:
        if proxy["reason"]:
            until = f" until {proxy['cooling_until']}" if proxy["cooling_until"] else ""
            session.show(f"  {safe(proxy['proxy'])} {proxy['state']}{until}: {safe(proxy['reason'])}")
    if len(pool["providers"]) > 1:
        session.show("")
        _print(session, map(_provider_row, pool["providers"]), PROVIDERS, 5)
    if pool["hosts"]:
        session.show("")
        _print(session, map(_host_row, pool["hosts"]), HOSTS, 4)


def _warn_of(session: Session, pool: Record) -> None:
    if pool["error"]:
        session.say(f"pool {safe(pool['pool'])} cannot be used: {safe(pool['error'])}")


def _proxy_row(one: Record) -> tuple[str, ...]:
    figures = *_figures(one), _seconds(one["latency_p95_s"]), size(one["bytes"]), _cost(one["cost"])
    return one["state"], *figures, one["region"] or NONE, one["provider"] or NONE, safe(one["proxy"])


def _provider_row(one: Record) -> tuple[str, ...]:
    return *_figures(one), _cost(one["cost"]), one["provider"] or NONE


def _host_row(one: Record) -> tuple[str, ...]:
    return *_figures(one), one["best_provider"] or NONE, safe(one["best_proxy"]), safe(one["host"])


def _figures(one: Record) -> tuple[str, ...]:
    share, latency = _share(one["success_share"]), _seconds(one["latency_p50_s"])
    return f"{one['requests']:,}", share, f"{one['blocks']:,}", latency


def _print(session: Session, rows: Iterable[tuple[str, ...]], header: tuple[str, ...], numbers: int) -> None:
    """`numbers`: how many columns before the others hold numbers. Attributes that no proxy has are left out."""
    columns = list(zip(header, *rows, strict=True))
    shown = [place for place, column in enumerate(columns) if column[0] not in ATTRIBUTES or {*column[1:]} != {NONE}]
    right = frozenset(index for index, place in enumerate(shown) if place < numbers)
    lines = list(zip(*(columns[place] for place in shown), strict=True))
    for line in table(iter(lines[1:]), lines[0], get_terminal_size().columns, right):
        session.show(line)


def _share(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.0f} %"


def _seconds(seconds: float | None) -> str:
    return NONE if seconds is None else f"{seconds:g} s"


def _cost(cost: float) -> str:
    return f"{cost:.4g}" if cost else NONE
