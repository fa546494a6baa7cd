"""From options by name, as flags, a spider or a caller give them, to the job they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ada_url import normalize_url

from shoal.errors import UsageError
from shoal.extract.formats import asked_formats
from shoal.model import Asker, JobSpec, Lane, Limits, Politeness, ScopeKind, Webhook
from shoal.model.bounds import check_bounds
from shoal.spiders.sources import Sources, seed_scope
from shoal.urls import Params, Scope, canonical
from shoal.urls.traps import asked_rules

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("max_pages", "max_depth", "max_bytes", "max_seconds", "max_pages_per_host", "scope", "name")),
    **dict.fromkeys(("max_failure_rate", "max_null_share", "max_change", "max_archive_bytes")),
    **dict.fromkeys(("webhook", "webhook_secret")),
    **dict.fromkeys(("include", "exclude", "proxy", "header", "cookie", "formats"), ()),
    **dict.fromkeys(("keep_params", "drop_params", "allow_trap"), ()),
    **dict.fromkeys(("sitemaps", "ignore_robots", "allow_private", "refresh", "error_on_limit"), False),
    **dict.fromkeys(("no_text", "no_archive"), False),
    "rate": 2.0,
    "per_host": 2,
    "group": "host",
    "retries": 4,
    "lane": "batch",
    "priority": 0,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """The options as given, before the sources are known. What is given wins over what the spider says."""

    values: Mapping[str, Any]
    spider: Spider | None
    asked_by: Asker

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        spider: Spider | None,
        allow_private: bool,
        asked_by: Asker = Asker.OPERATOR,
    ) -> Wish:
        """`allow_private` counts where nobody says otherwise. Raises UsageError for a number out of its bounds."""
        said = dict(spider.options) if spider else {}
        values = {**DEFAULTS, "allow_private": allow_private, **said, **given}
        check_bounds(values)
        return cls(values, spider, asked_by)

    @property
    def params(self) -> Params:
        return Params(frozenset(_names(self.values["keep_params"])), frozenset(_names(self.values["drop_params"])))

    @property
    def group(self) -> str:
        return str(self.values["group"])

    @property
    def limits(self) -> Limits:
        given = self.values
        return Limits(
            pages=given["max_pages"],
            depth=given["max_depth"],
            bytes=given["max_bytes"],
            seconds=given["max_seconds"],
            pages_per_host=given["max_pages_per_host"],
        )

    @property
    def politeness(self) -> Politeness:
        given = self.values
        return Politeness(
            rate=given["rate"],
            per_host=given["per_host"],
            group=given["group"],
            robots=not given["ignore_robots"],
        )

    def spec(self, sources: Sources, output: str | None) -> JobSpec:
        """Raises UsageError for what cannot work, patterns included."""
        given, spider = self.values, self.spider
        self._check_formats()
        asked = ScopeKind(given["scope"]) if given["scope"] else None
        scope = seed_scope(sources.listed, asked)
        Scope(scope, (), given["include"], given["exclude"])
        return JobSpec(
            name=given["name"] or (spider.name if spider else sources.name),
            scope=scope,
            include=tuple(given["include"]),
            exclude=tuple(given["exclude"]),
            sitemaps=given["sitemaps"],
            limits=self.limits,
            politeness=self.politeness,
            lane=Lane(given["lane"]),
            priority=given["priority"],
            retries=given["retries"],
            headers=dict(pair(text, ":", "--header") for text in given["header"]),
            cookies=tuple("=".join(pair(text, "=", "--cookie")) for text in given["cookie"]),
            proxies=tuple(proxy_url(url) for url in given["proxy"]),
            asked_by=self.asked_by,
            allow_private=given["allow_private"],
            keep_params=_names(given["keep_params"]),
            drop_params=_names(given["drop_params"]),
            allow_traps=asked_rules(given["allow_trap"]),
            refresh=given["refresh"],
            max_failure_rate=given["max_failure_rate"],
            error_on_limit=given["error_on_limit"],
            formats=asked_formats(_names(given["formats"])),
            max_null_share=given["max_null_share"],
            max_change=given["max_change"],
            text=not given["no_text"],
            archive=not given["no_archive"],
            max_archive_bytes=given["max_archive_bytes"],
            spider=spider.reference if spider and spider.rules is None else None,
            rules=spider.rules if spider else None,
            webhook=_webhook(given["webhook"], given["webhook_secret"]),
            output=output,
        )

    def _check_formats(self) -> None:
        if not self.values["formats"]:
            return
        if self.spider:
            raise UsageError(
                "--formats is of page records, and a spider's or rules' job has items: leave one of them out"
            )
        if self.values["no_text"]:
            raise UsageError("--formats is kept with a page's text, and --no-text keeps none: leave one of them out")


def pair(text: str, separator: str, flag: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip() or "\n" in text or "\r" in text:
        raise UsageError(f"{flag} {text!r}: give it as NAME{separator}VALUE, on one line")
    return name.strip(), value.strip()


def proxy_url(url: str) -> str:
    if not re.match(r"(https?|socks5h?|socks4a?)://[^/\s]+", url):
        raise UsageError(f"--proxy {url!r}: give it as http://HOST:PORT (or https, socks5, socks5h)")
    return url


def _webhook(url: str | None, secret: str | None) -> Webhook | None:
    if url is None:
        if secret is not None:
            raise UsageError("webhook_secret signs what a webhook is told, and there is none: give webhook too")
        return None
    # Only to see that it can be asked for: canonical, it would lose parameters that its owner knows.
    canonical(url, Params())
    return Webhook(str(normalize_url(url)), secret)


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())
