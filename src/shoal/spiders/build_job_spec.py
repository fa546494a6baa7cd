"""From options and a spider to the job they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_url import normalize_url

from shoal.errors import InvalidURL, UsageError
from shoal.extract.format_names import asked_formats
from shoal.fetch.cookie_file import read_cookies
from shoal.model import (
    MOST_NOFOLLOW_PAGES,
    NEWEST,
    JobSpec,
    Limits,
    Politeness,
    Render,
    RenderOptions,
    Requester,
    ScopeKind,
    Webhook,
)
from shoal.model.options import OPTIONS, check_options, to_fields
from shoal.spiders.input_sources import Sources, seed_scope
from shoal.urls import Params, Scope, canonical
from shoal.urls.file_types import parse_types
from shoal.urls.traps import parse_rules

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job whose sources have not been read yet."""

    options: Mapping[str, Any]
    """Those that are set, checked."""
    spider: Spider | None
    """With its arguments."""
    requester: Requester

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        spider: Spider | None,
        allow_private: bool,
        requester: Requester = Requester.OPERATOR,
    ) -> JobDraft:
        """Options that are given win over those of the spider; `allow_private` holds if neither sets it. None
        stands for the default. Raises
        UsageError that names every fault in the options."""
        merged = {"allow_private": allow_private, **(spider.options if spider else {}), **given}
        options = {name: value for name, value in merged.items() if value is not None}
        check_options(options)
        arguments = to_fields(options).get("arguments", {})
        return cls(options, spider.with_arguments(arguments) if spider else None, requester)

    @property
    def params(self) -> Params:
        fields = to_fields(self.options)
        return Params(frozenset(fields.get("keep_params", ())), frozenset(fields.get("drop_params", ())))

    @property
    def group(self) -> str:
        return str(self.options.get("group", OPTIONS["group"].default))

    @property
    def limits(self) -> Limits:
        return Limits(**to_fields(self.options).get("limits", {}))

    def spec(self, sources: Sources, output: str | None) -> JobSpec:
        """Raises UsageError for options that cannot work together, and for patterns that cannot work."""
        options, spider = self.options, self.spider
        self._check_formats()
        if self.options.get("assets") and self.options.get("no_archive"):
            raise UsageError("--assets needs the archive for its files: leave --assets or --no-archive out")
        if options.get("no_cookies") and (options.get("cookie") or options.get("cookie_file")):
            raise UsageError("--no-cookies sends no cookie: leave it out, or --cookie and --cookie-file")
        if options.get("render", Render.NEVER) != Render.NEVER and options.get("ca_file"):
            raise UsageError("--ca-file is not for browsers: leave it or --render out, or use --insecure")
        if options.get("robots_strict") and options.get("ignore_robots"):
            raise UsageError("--robots-strict obeys more of robots.txt and --ignore-robots nothing: leave one out")
        if spider is None and options.get("argument"):
            name = options["argument"][0].partition("=")[0]
            raise UsageError(f"the argument {name} is for a spider, and the job has none: leave it out")
        fields = to_fields(options)
        scope = seed_scope(sources.listed, fields.get("scope"))
        Scope(scope, (), fields.get("include", ()), fields.get("exclude", ()))
        own = {
            "name": _job_name(fields.get("name") or (spider.name if spider else sources.name)),
            "scope": scope,
            "limits": self._bounded_limits(scope),
            "politeness": Politeness(**fields.get("politeness", {})),
            "rendering": self._rendering(fields.get("rendering", {})),
            "headers": plain_headers(options),
            "cookies": cookie_lines(options),
            "allow_traps": parse_rules(fields.get("allow_traps", ())),
            "types": parse_types(fields.get("types", ())),
            "formats": asked_formats(fields.get("formats", ())),
            "cookie_file": _cookie_file(fields.get("cookie_file")),
            "ca_certificates": _certificates(fields.get("ca_certificates")),
            "webhook": _webhook(**fields.get("webhook", {})),
            "proxy_pool": _proxy_pool(fields.get("proxy_pool")),
            "sinks": self._sinks(fields.get("sinks", ())),
            "asked_by": self.requester,
            "spider": spider.reference if spider and spider.rules is None else None,
            "rules": spider.rules if spider else None,
            "output": output,
        }
        return JobSpec(**{**fields, **own})

    def _bounded_limits(self, scope: ScopeKind) -> Limits:
        """Sites ask that links not be followed where these have no end: git browsers, histories, filters."""
        limits = self.limits
        follows_all = (
            bool(self.options.get("ignore_nofollow")) and self.spider is None and scope is not ScopeKind.LISTED
        )
        is_bounded = replace(limits, assets=None) != Limits()
        return replace(limits, pages_per_host=MOST_NOFOLLOW_PAGES) if follows_all and not is_bounded else limits

    def _rendering(self, given: Mapping[str, Any]) -> RenderOptions:
        rendering = RenderOptions(**given)
        # Only to see that they can be used together.
        _ = rendering.rendering
        return rendering

    def _sinks(self, given: Sequence[str]) -> tuple[str, ...]:
        if given and self.spider is None:
            raise UsageError("--sink delivers items, and only a spider or rules give items: name one, or use -o FILE")
        if not given:
            return ()
        # Imported here only: few jobs have sinks.
        from shoal.model.sink_url import absolute_sink, check_sink

        for text in given:
            check_sink(text)
        # The process that feeds them may run in another folder.
        return tuple(absolute_sink(text, Path.cwd()) for text in given)

    def _check_formats(self) -> None:
        if not self.options.get("formats"):
            return
        if self.spider:
            raise UsageError("--formats cannot be combined with a spider or rules: leave one of them out")
        if self.options.get("no_text"):
            raise UsageError("--formats is stored with a page's text, and --no-text stores none: leave one of them out")


def _job_name(name: str) -> str:
    if name == NEWEST:
        raise UsageError(
            f"a job cannot have the name {NEWEST}: every command takes it for the newest job; name it otherwise"
        )
    return name


def cookie_lines(options: Mapping[str, Any]) -> tuple[str, ...]:
    """As JobSpec has them: unlike a mapping, they can be two of one name. Those of a header Cookie are among them: a
    jar replaces what the host sets anew, and sends each cookie once. Raises UsageError."""
    given = tuple("=".join(OPTIONS["cookie"].pair(text)) for text in options.get("cookie", ()))
    return given if options.get("no_cookies") else (*given, *_cookies_of_headers(options))


def plain_headers(options: Mapping[str, Any]) -> dict[str, str]:
    """Those that are not sent as cookies."""
    headers: dict[str, str] = to_fields(options).get("headers", {})
    return {name: value for name, value in headers.items() if options.get("no_cookies") or name.lower() != "cookie"}


def _cookies_of_headers(options: Mapping[str, Any]) -> Iterator[str]:
    headers = to_fields(options).get("headers", {})
    for text in (value for name, value in headers.items() if name.lower() == "cookie"):
        for pair in filter(None, map(str.strip, text.split(";"))):
            if OPTIONS["cookie"].fault([pair]):
                # Without the fault's words: they show the cookie, which is a secret.
                raise UsageError("--header Cookie: give NAME=VALUE, with ; between several cookies")
            yield "=".join(OPTIONS["cookie"].pair(pair))


def check_proxy_options(options: Mapping[str, Any]) -> None:
    """Raises UsageError for an option that does nothing without proxies."""
    useless = [name for name in ("region", "sticky_proxy", "direct_fallback") if options.get(name)]
    if useless and not (options.get("proxy") or options.get("proxy_pool")):
        raise UsageError(f"{OPTIONS[useless[0]].flag} needs proxies: give --proxies FILE or --proxy URL too")


def _proxy_pool(given: str | None) -> str | None:
    if given is not None:
        # Imported here only: few jobs have proxies.
        from shoal.model.proxy_list import POOL_NAME, read_proxies

        if not POOL_NAME.fullmatch(given):
            read_proxies(given)
    return given


def _cookie_file(text: str | None) -> str | None:
    return None if text is None else read_cookies(text)


def _certificates(text: str | None) -> str | None:
    if text is None:
        return None
    # Only here: a crawl without certificates of its own need not load it.
    from shoal.fetch.tls_policy import read_certificates

    return read_certificates(text)


def _webhook(url: str | None = None, secret: str | None = None) -> Webhook | None:
    if url is None:
        if secret is not None:
            raise UsageError("webhook_secret requires webhook: give both")
        return None
    # Only to see that it can be fetched: in its canonical form it would lose parameters that its owner knows.
    try:
        canonical(url, Params())
    except InvalidURL as error:
        raise UsageError(f"--webhook: {error}") from None
    return Webhook(str(normalize_url(url)), secret)
