"""One job as the engine works on it: its scope, cookies and fetcher, and the requests it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shoal.engine.robots_known import KnownRobots
from shoal.fetch.cookies import Jar
from shoal.fetch.curl import Fetcher
from shoal.fetch.robots import product_token
from shoal.fetch.transfer import Fetch
from shoal.model import ItemType, JobSpec, Lease, Target
from shoal.store.archive.recorder import Recorder
from shoal.urls import Exclusions, Params, Resolver, Scope, Traps, origin_of, target

if TYPE_CHECKING:
    from shoal.engine.callbacks import Callbacks
    from shoal.engine.refresh import Known

SITEMAP = "#sitemap"
"""Callback of requests whose answer is read as a sitemap; no spider's callback can be called so."""
PAGE_BYTES = 10_000_000
SITEMAP_BYTES = 60_000_000
OPEN_HEADERS = frozenset({"accept", "accept-language", "user-agent", "from", "dnt", "cache-control", "pragma"})
"""Headers that carry no secret; any other goes only to where the job began."""
MOST_MAPPED = 100_000
"""Origins remembered."""


class Work:
    edition = 0
    """Of what is known here of the job; the leases of a fleet tell when there is a later one."""
    seed_line = 0
    """Inputs up to this line are known here."""
    written_at = 0.0
    """When the spider's file had last been written as it was loaded; whoever loads it anew sets it."""
    is_changed = False
    """Whether its scope or patterns may have been changed since it began: what is queued need not belong."""
    keeps_offers = False
    """Set before the engine runs: offers are stored, so that a lost frontier can be rebuilt."""
    exclusions = Exclusions()
    """What the operator lets no job request; set before the engine runs."""
    recorder: Recorder | None = None
    """Set before the engine runs; None: the job keeps no archive."""

    def __init__(
        self,
        job: str,
        spec: JobSpec,
        made_at: float,
        seeds: Iterable[str],
        admitted: Iterable[str],
        fetcher: Fetcher,
        callbacks: Callbacks | None = None,
    ) -> None:
        self.job = job
        self.spec = spec
        self.made_at = made_at
        self.fetcher = fetcher
        self.callbacks = callbacks
        """The job's spider at work; None: pages are read as they are."""
        self.about = {"job": job}
        """What a log line about the job carries; set before the engine runs, if there is more."""
        self.agent = spec.user_agent
        self.token = product_token(self.agent).lower()
        """The name by which a page's directives may call the job; that of robots.txt too."""
        self.open_headers = {k: v for k, v in spec.headers.items() if k.lower() in OPEN_HEADERS}
        self.jar = Jar()
        self.params = Params.of(spec)
        self.scope = Scope(spec.scope, (), spec.include, spec.exclude)
        self._seed_origins: set[str] = set()
        self.add_seeds(seeds)
        for url in admitted:
            self.scope.admit(url)
        traps = Traps(spec.allow_traps, made_at)
        self.resolver = Resolver(self.scope, traps, self.params, spec.politeness.group)
        self.refused = KnownRobots()
        """What the job's guard kept it from, so that an origin is asked once and not by each of its pages."""
        self._mapped: set[str] = set()
        self._admitted_here: set[str] = set()
        self.newly_admitted: list[str] = []
        self.new_types: list[ItemType] = []
        self.cookies_changed = False
        self.skipped: Counter[str] = Counter()
        """Links by reason, where no page counts them."""
        # These four are the Settler's to store and to take back.

    @property
    def proxy(self) -> str:
        return self.spec.proxies[0] if self.spec.proxies else ""

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """More may be appended while the job runs."""
        self.scope.add_seeds(self._noting_origins(seeds))

    def change(self, spec: JobSpec) -> None:
        """To what the job has been changed to while it runs: limits, politeness, patterns; `set_scope` is apart."""
        if (spec.include, spec.exclude) != (self.spec.include, self.spec.exclude):
            self.scope.set_patterns(spec.include, spec.exclude)
        self.spec = spec
        self.is_changed = True

    def set_scope(self, scope: Scope) -> None:
        """In place of the one it has; what joined that meanwhile joins this."""
        for url in self._admitted_here:
            scope.admit(url)
        self.scope.become(scope)

    def _noting_origins(self, seeds: Iterable[str]) -> Iterator[str]:
        for url in seeds:
            origin = origin_of(url)
            if origin not in self._seed_origins:
                self._seed_origins.add(origin)
                for cookie in self.spec.cookies:
                    self.jar.add(origin + "/", cookie)
            yield url

    def headers_for(self, origin: str) -> dict[str, str]:
        """Secrets stay where the job began; a host that moves to https takes them along."""
        began_here = origin in self._seed_origins or origin.replace("https://", "http://") in self._seed_origins
        return dict(self.spec.headers) if began_here else self.open_headers

    @property
    def asks_on_conditions(self) -> bool:
        """By headers that the job was given."""
        return any(name.lower().startswith("if-") for name in self.spec.headers)

    def call(self, lease: Lease, known: Known | None) -> Fetch:
        wanted = lease.target
        standing = known.page if known and known.reusable else None
        origin = origin_of(wanted.url)
        return Fetch(
            url=wanted.url,
            method=wanted.method,
            body=wanted.body,
            content_type=wanted.content_type,
            headers=self.headers_for(origin),
            jar=self.jar,
            proxy=self.proxy,
            credentials=self.spec.credentials.get(origin, ""),
            etag=standing.etag if standing else None,
            last_modified=standing.last_modified if standing else None,
            max_bytes=SITEMAP_BYTES if lease.trail.callback == SITEMAP else PAGE_BYTES,
        )

    def target(self, url: str) -> Target:
        """Raises InvalidURL."""
        return target(url, self.params, self.spec.politeness.group)

    def note_mapped(self, origin: str) -> bool:
        """Whether its sitemaps are to be offered: once, or again if it was forgotten, when the frontier knows them."""
        if origin in self._mapped:
            return False
        if len(self._mapped) >= MOST_MAPPED:
            self._mapped.clear()
        self._mapped.add(origin)
        return True

    def is_too_deep(self, depth: int) -> bool:
        return self.spec.limits.depth is not None and depth > self.spec.limits.depth

    def admit(self, url: str) -> None:
        """The host that a seed redirects to joins the scope."""
        self.scope.admit(url)
        self._admitted_here.add(url)
        self.newly_admitted.append(url)
