"""A job that the engine works on: its scope, cookies, fetcher and spider, and the fetches it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.engine.job_credentials import JobCredentials
from shoal.engine.learnt_counts import LearntCounts
from shoal.engine.reading.page_worth import SeenTexts
from shoal.engine.robots.cache import RobotsCache
from shoal.engine.shape_statistics import ShapeStatistics
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.robots import product_token
from shoal.fetch.tls_policy import TlsPolicy
from shoal.model import ItemType, JobSpec, Lease, Render, RequestOptions, Target
from shoal.model.rendering import Rendering, steps_of
from shoal.store.archive.recorder import Recorder
from shoal.store.crawl.learnt_counts import RENDER_GAINED, RENDER_WASTED
from shoal.urls import Exclusions, Params, Resolver, Scope, Traps, origin_of, target, with_identity
from shoal.urls.file_types import FileTypes

if TYPE_CHECKING:
    from shoal.browser.browser_fetcher import BrowserFetcher
    from shoal.engine.proxies.job_exits import JobExits
    from shoal.engine.reading.auto_render import AutoRender
    from shoal.engine.reading.conditional_recrawl import KnownPage
    from shoal.engine.reading.reuse_archived_response import ArchivedResponses
    from shoal.engine.reading.soft_blocks import SoftBlocks
    from shoal.engine.reading.spider_callbacks import SpiderCallbacks
    from shoal.fetch.proxies.provider_fetcher import ProviderFetcher

SITEMAP = "#sitemap"
"""Callback of requests whose response is read as a sitemap. No spider's callback can have this name."""
SITEMAP_BYTES = 60_000_000
MOST_MAPPED = 100_000
"""Maximum number of origins to remember."""


@dataclass(frozen=True, slots=True)
class JobResources:
    """What the process provides to a job that it works on."""

    fetcher: Fetcher
    callbacks: SpiderCallbacks | None = None
    """The job's spider; None: pages are stored without one."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """What the spider's `on_start` gave to the callbacks."""
    recorder: Recorder | None = None
    """None: the job keeps no archive."""
    archived_responses: ArchivedResponses | None = None
    """None: bodies of earlier jobs cannot be read."""
    exclusions: Exclusions = field(default_factory=Exclusions)
    """What the operator forbids all jobs to request."""
    keeps_offers: bool = False
    """Also store offers, so that a lost frontier can be rebuilt."""
    open_browser: Callable[[], BrowserFetcher] | None = None
    """Gives the fetcher for pages that a browser loads; called when the first of them is due. Raises BrowserMissing.
    None: this process has no browser."""
    is_changed: bool = False
    """The scope or the patterns may have changed since the job began, so queued requests may no longer belong to it."""
    spider_written_at: float = 0.0
    """When the spider's file was last written, as of when it was loaded."""
    exits: JobExits | None = None
    """The job's proxies; None: it has none, and uses this machine's own address."""


class ActiveJob:
    def __init__(
        self,
        id: str,
        spec: JobSpec,
        made_at: float,
        seeds: Iterable[str],
        admitted: Iterable[str],
        resources: JobResources,
        about: Mapping[str, str] | None = None,
    ) -> None:
        """`about` has the fields for log lines about the job."""
        self.id = id
        self.spec = spec
        self.made_at = made_at
        self.about = dict(about or {"job": id})
        self.fetcher = resources.fetcher
        self.exits = resources.exits
        self.recorder = resources.recorder
        self.archived_responses = resources.archived_responses
        self.exclusions = resources.exclusions
        self.keeps_offers = resources.keeps_offers
        self._open_browser = resources.open_browser
        self._rendering = spec.rendering.rendering
        self._pictures = steps_of(["screenshot"] * spec.rendering.screenshot)
        """The last steps of every page, also of one with steps of its own."""
        self.is_changed = resources.is_changed
        self.spider_written_at = resources.spider_written_at
        self.edition = 0
        """The edition of the job that is loaded here. A fleet's lease tells when there is a newer one."""
        self.seed_line = 0
        """Inputs up to this line are loaded here."""
        self.agent = spec.user_agent
        self.token = product_token(self.agent).lower()
        """The name by which robots.txt and a page's directives may address the job."""
        self.credentials = JobCredentials(spec)
        self.jars = self.credentials.jars
        self.params = Params.of(spec)
        self.scope = Scope(spec.scope, (), spec.include, spec.exclude)
        self.add_seeds(seeds)
        for url in admitted:
            self.scope.admit(url)
        traps = Traps(spec.allow_traps, made_at)
        self.types = FileTypes(spec.types, has_spider=resources.callbacks is not None)
        self.resolver = Resolver(
            self.scope, traps, self.params, spec.politeness.group, types=self.types, stays_logged_in=spec.is_logged_in
        )
        self.learnt = LearntCounts()
        self.shapes = ShapeStatistics(self.learnt, spec.allow_shapes) if resources.callbacks is None else None
        """None: a spider or rules choose the links."""
        self.seen_texts = SeenTexts()
        self.shares_robots = TlsPolicy.of(spec).is_usual
        """Whether other jobs may trust the robots.txt files that this one fetches, and it theirs."""
        self.own_robots = RobotsCache()
        """Files that mean nothing for other jobs: those it cannot share, and of hosts that it refused itself."""
        self._mapped: set[str] = set()
        self._admitted_here: set[str] = set()
        self.newly_admitted: list[str] = []
        self.new_types: list[ItemType] = []
        self.new_spider_version: str | None = None
        self.use(resources.callbacks)
        self.shared = resources.shared
        self.skipped: Counter[str] = Counter()
        """Reason -> skipped links that no page counts."""
        # ResultSaver stores these four and resets them, and the changes of the jars.

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """URLs may be appended while the job runs."""
        self.scope.add_seeds(self.credentials.noting_origins(seeds))

    def change(self, spec: JobSpec) -> None:
        """Applies changes made while the job runs: limits, politeness, patterns. `set_scope` changes the scope."""
        if (spec.include, spec.exclude) != (self.spec.include, self.spec.exclude):
            self.scope.set_patterns(spec.include, spec.exclude)
        self.spec = spec
        self.is_changed = True

    def use(self, callbacks: SpiderCallbacks | None) -> None:
        """Reads further pages with this spider."""
        self.callbacks = callbacks
        if callbacks is not None:
            self.new_types += callbacks.item_types
            self.new_spider_version = callbacks.version

    def set_scope(self, scope: Scope) -> None:
        """Replaces the scope. Hosts that joined the old one meanwhile join the new one."""
        for url in self._admitted_here:
            scope.admit(url)
        self.scope.replace_with(scope)

    @property
    def has_conditional_headers(self) -> bool:
        """Whether the job's own headers make requests conditional."""
        return any(name.lower().startswith("if-") for name in self.spec.headers)

    def call(self, lease: Lease, known: KnownPage | None, exit: Exit | None = None) -> Fetch:
        wanted, rendering = lease.target, self.rendering_of(lease)
        # The document of a rendered page may stay the same while what its scripts load changes.
        reusable = known.page if known and known.reusable and rendering is None else None
        origin = origin_of(wanted.url)
        call = Fetch(
            url=wanted.url,
            method=wanted.method,
            body=wanted.body,
            content_type=wanted.content_type,
            headers=self.credentials.headers_for(origin),
            jar=self.jars[session_of(lease)] if self.spec.use_cookies else None,
            proxy=exit.url if exit else "",
            remote_dns=exit.remote_dns if exit else False,
            credentials=self.spec.credentials.get(origin, ""),
            etag=reusable.etag if reusable else None,
            last_modified=reusable.last_modified if reusable else None,
            max_bytes=SITEMAP_BYTES if lease.trail.callback == SITEMAP else self.spec.max_page_bytes,
            deadline_s=self.spec.timeout,
            types=self.types if self.checks_type(lease) else None,
            rendering=rendering,
        )
        options = lease.trail.options
        return call if options is None else self._with_options(call, options)

    @cached_property
    def browser(self) -> BrowserFetcher | None:
        """None: this process has no browser. Raises BrowserMissing."""
        return None if self._open_browser is None else self._open_browser()

    async def close_browser(self) -> None:
        """Closes what the job has of its own there. Its fetcher is made again if another page needs it."""
        if (browser := self.__dict__.pop("browser", None)) is not None:
            await browser.aclose()

    @cached_property
    def auto_render(self) -> AutoRender:
        # Imported here only: few jobs need it.
        from shoal.engine.reading.auto_render import AutoRender

        return AutoRender(self.learnt, self._has_browser)

    def _has_browser(self) -> bool:
        """Asked each time: the browser of a process may fail, and start again later."""
        return self.browser is not None and not self.browser.pool.is_away

    def load_learnt(self, stored: Mapping[tuple[str, str], int]) -> None:
        """Takes over what the job has learnt in other processes, and in earlier runs."""
        if self.shapes is not None:
            self.shapes.load(stored)
        if any(kind in (RENDER_GAINED, RENDER_WASTED) for kind, _ in stored):
            self.auto_render.load(stored)

    @cached_property
    def soft_blocks(self) -> SoftBlocks:
        # Imported here: it judges what was read.
        from shoal.engine.reading.soft_blocks import SoftBlocks

        return SoftBlocks()

    def render_mode(self, lease: Lease) -> Render:
        """Which of its pages a browser loads. Sitemaps and assets are never rendered."""
        if lease.trail.callback == SITEMAP or lease.trail.is_asset:
            return Render.NEVER
        return (lease.trail.options and lease.trail.options.render) or self.spec.render

    def rendering_of(self, lease: Lease) -> Rendering | None:
        """How a browser loads the page. None: it is fetched without one."""
        mode, options = self.render_mode(lease), lease.trail.options
        if mode is Render.NEVER or (mode is Render.AUTO and not self.auto_render.at_once(lease)):
            return None
        if options is not None and options.playwright:
            return self._rendering._replace(steps=(), playwright=True)
        if options is not None and options.steps:
            return self._rendering._replace(steps=(*options.steps, *self._pictures))
        began_here = self.credentials.began_at(origin_of(lease.target.url))
        return self._rendering if began_here else self._rendering.for_another_origin()

    def _with_options(self, call: Fetch, options: RequestOptions) -> Fetch:
        return replace(
            call,
            headers={**call.headers, **dict(options.headers)},
            # The request's own cookies win over those of the same name in the jar.
            jar=call.jar.copy_without(dict(options.cookies)) if options.cookies and call.jar else call.jar,
            cookies="; ".join(f"{name}={value}" for name, value in options.cookies),
            deadline_s=options.timeout_s or call.deadline_s,
        )

    def fetcher_of(self, exit: Exit | None) -> Fetcher | ProviderFetcher:
        return self.fetcher if exit is None or self.exits is None else self.exits.fetcher(exit, self.fetcher)

    def checks_type(self, lease: Lease) -> bool:
        """Whether the type of the answer decides if it is kept. A seed is kept unless the job chose types."""
        if self.types.takes_all or lease.trail.callback == SITEMAP or lease.trail.is_asset:
            return False
        return bool(self.types.chosen) or lease.trail.parent is not None

    def after_fetch(self, lease: Lease, call: Fetch) -> None:
        """Takes over the cookies of a request that had a jar of its own."""
        if call.jar is not None and call.jar is not (jar := self.jars[session_of(lease)]):
            jar.take_changes(call.jar)

    def target(self, url: str, identity: str = "") -> Target:
        """Raises InvalidURL."""
        return with_identity(target(url, self.params, self.spec.politeness.group), identity)

    def claim_sitemaps(self, origin: str) -> bool:
        """Whether to offer the origin's sitemaps: once, or again if it was forgotten; the frontier drops known ones."""
        if origin in self._mapped:
            return False
        if len(self._mapped) >= MOST_MAPPED:
            self._mapped.clear()
        self._mapped.add(origin)
        return True

    def is_too_deep(self, depth: int) -> bool:
        return self.spec.limits.depth is not None and depth > self.spec.limits.depth

    def admit(self, url: str) -> None:
        """Adds the host that a seed redirects to to the scope."""
        self.scope.admit(url)
        self._admitted_here.add(url)
        self.newly_admitted.append(url)


def session_of(lease: Lease) -> str:
    """Empty for nearly every request."""
    options = lease.trail.options
    return (options.session or "") if options is not None else ""
