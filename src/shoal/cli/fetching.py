"""The options of commands that fetch one page, and the manners they amount to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from shoal.cli.session import Session
from shoal.jobs.one_page import Manners
from shoal.spiders.wish import pair, proxy_url

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--header", multiple=True, metavar="K:V", help="Send this header."),
    click.option("--cookie", multiple=True, metavar="K=V", help="Send this cookie."),
    click.option("--proxy", metavar="URL", help="Fetch through this proxy."),
    click.option("--ignore-robots", is_flag=True, help="Do not ask for or obey robots.txt. Yours to answer for."),
    click.option("--allow-private", is_flag=True, help="Let it reach private and loopback addresses."),
)


def fetch_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def manners(session: Session, given: Mapping[str, Any], of_spider: Mapping[str, Any]) -> Manners:
    """A flag wins over the spider's own option of that name."""

    wish = {**of_spider, **{name: value for name, value in given.items() if value}}
    proxies = [wish["proxy"]] if isinstance(wish.get("proxy"), str) else list(wish.get("proxy", ()))
    return Manners(
        agent=session.settings.user_agent,
        allow_private=bool(wish.get("allow_private")) or session.settings.allow_private,
        robots=not wish.get("ignore_robots"),
        headers=dict(pair(text, ":", "--header") for text in wish.get("header", ())),
        cookies=tuple("=".join(pair(text, "=", "--cookie")) for text in wish.get("cookie", ())),
        proxy=proxy_url(proxies[0]) if proxies else "",
    )
