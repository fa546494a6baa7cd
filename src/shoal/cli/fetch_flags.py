"""The options of commands that fetch one page, and how they fetch it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from shoal.cli.job_flags import flag, with_options
from shoal.cli.job_request import given_options
from shoal.cli.project_options import added_options
from shoal.cli.session import Session
from shoal.fetch.cookie_file import read_cookies
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.tls_policy import TlsPolicy
from shoal.jobs.fetch_one_page import FetchOptions
from shoal.model import JobSpec
from shoal.model.options import DEFAULTS, check_options, to_fields
from shoal.spiders.build_job_spec import cookie_lines, plain_headers

F = TypeVar("F", bound=Callable[..., Any])

_TRANSFER = ("timeout", "max_page_bytes", "insecure", "ca_file")
_PROXIES = ("proxy", "proxy_pool", "region")
_NAMES = ("header", "cookie", "cookie_file", *_PROXIES, "ignore_robots", "allow_private", *_TRANSFER)


def fetch_flags(function: F) -> F:
    """Without those of a whole crawl: one page has one proxy."""
    one_page = (
        flag("header"),
        flag("cookie", help="Send this cookie."),
        flag("cookie_file"),
        flag("proxy", many=False),
        flag("proxy_pool"),
        flag("region"),
        flag("ignore_robots"),
        flag("allow_private"),
        *map(flag, _TRANSFER),
    )
    return with_options(function, one_page)


def fetch_options(session: Session, given: Mapping[str, Any], of_spider: Mapping[str, Any]) -> FetchOptions:
    """A flag wins over the spider's own option of that name, and that over the project's."""
    chosen = given_options(dict(given))
    merged = {**of_spider, **added_options(session, {**of_spider, **chosen}, _NAMES), **chosen}
    options = {name: merged[name] for name in _NAMES if merged.get(name)}
    if isinstance(options.get("proxy"), str):
        options["proxy"] = [options["proxy"]]
    check_options(options)
    fields = to_fields(options)
    exit = _exit(session, fields)
    return FetchOptions(
        agent=session.settings.user_agent,
        allow_private=fields.get("allow_private", False) or session.settings.allow_private,
        robots=not options.get("ignore_robots"),
        headers=plain_headers(options),
        cookies=cookie_lines(options),
        cookie_file=read_cookies(options["cookie_file"]) if "cookie_file" in options else "",
        proxy=exit.url if exit else "",
        remote_dns=exit.remote_dns if exit else False,
        timeout=fields.get("timeout", DEFAULTS["timeout"]),
        max_page_bytes=fields.get("max_page_bytes", DEFAULTS["max_page_bytes"]),
        tls=TlsPolicy(fields.get("insecure", False), fields.get("ca_certificates")),
    )


def _exit(session: Session, fields: Mapping[str, Any]) -> Exit | None:
    named = {name: fields[name] for name in ("proxies", "proxy_pool", "region") if fields.get(name)}
    if not named:
        return None
    # Only here: most commands use no proxy.
    from shoal.cli.command_proxies import command_exit

    return command_exit(session, JobSpec("one page", **named))
