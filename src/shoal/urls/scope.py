"""Which URLs belong to a job: by the place of its seeds, then by its patterns.

Seeds always belong. `exclude` patterns win over `include` patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shoal.model import ScopeKind
from shoal.urls.fingerprint import fingerprint, host_of, registrable_domain, split_port
from shoal.urls.url_patterns import compiled


class Scope:
    def __init__(
        self, kind: ScopeKind, seeds: Iterable[str], include: tuple[str, ...], exclude: tuple[str, ...]
    ) -> None:
        """`seeds` are canonical URLs. Raises UsageError for an invalid pattern."""
        self._kind = kind
        self._place = _PLACE.get(kind)
        self._changes = -1
        self.set_patterns(include, exclude)
        self._seeds: set[int] = set()
        self._places: set[str] = set()
        self.add_seeds(seeds)

    def add_seeds(self, seeds: Iterable[str]) -> None:
        for seed in seeds:
            self._seeds.add(fingerprint(seed))
            self.admit(seed)

    @property
    def is_listed(self) -> bool:
        """The seeds alone belong."""
        return self._kind is ScopeKind.LISTED

    @property
    def version(self) -> int:
        """Increases whenever the scope changes, so that cached decisions can be recognised as old."""
        return len(self._places) + self._changes

    def set_patterns(self, include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
        """Replaces the patterns."""
        self._include = [compiled(pattern, "include") for pattern in include]
        self._exclude = [compiled(pattern, "exclude") for pattern in exclude]
        self._changes += 1

    def replace_with(self, other: Scope) -> None:
        """Takes over the kind, seeds, places and patterns of another scope at once."""
        self._changes = self.version + 1 - len(other._places)
        self._kind, self._place = other._kind, other._place
        self._seeds, self._places = other._seeds, other._places
        self._include, self._exclude = other._include, other._exclude

    def admit(self, url: str) -> None:
        """Adds the host, domain or directory to which a seed redirected.

        `listed` has no such place: there the caller lets the target of a redirect pass.
        """
        if self._place:
            self._places.add(self._place(url))

    def covers_origin(self, origin: str) -> bool:
        """Whether every URL of an origin belongs: its host does, and there are no patterns."""
        by_host = self._kind in (ScopeKind.ANY, ScopeKind.HOST, ScopeKind.DOMAIN)
        return by_host and not self._include and not self._exclude and self._covers(origin + "/")

    def refusal(self, url: str) -> str | None:
        """Why a canonical URL does not belong: `off_scope` or `excluded`. None: it belongs."""
        if not self._covers(url):
            reason = "off_scope"
        elif self.excludes(url):
            reason = "excluded"
        else:
            return None
        return None if self.is_seed(url) else reason

    def is_seed(self, url: str) -> bool:
        return fingerprint(url) in self._seeds

    def _covers(self, url: str) -> bool:
        if self._place is None:
            return self._kind is ScopeKind.ANY
        if self._kind is ScopeKind.PREFIX:
            return any(directory in self._places for directory in _directories(url))
        return self._place(url) in self._places

    def excludes(self, url: str) -> bool:
        """Checks the patterns alone."""
        if self._exclude and any(matches(url) for matches in self._exclude):
            return True
        return bool(self._include) and not any(matches(url) for matches in self._include)


def _domain(url: str) -> str:
    return registrable_domain(split_port(host_of(url))[0])


def _directory(url: str) -> str:
    """Host and path up to the last slash. Without the scheme, because a site has both."""
    return url.partition("?")[0].partition("://")[2].rpartition("/")[0] + "/"


def _directories(url: str) -> Iterable[str]:
    innermost = _directory(url)
    end = innermost.find("/") + 1
    while end:
        yield innermost[:end]
        end = innermost.find("/", end) + 1


_PLACE: dict[ScopeKind, Callable[[str], str]] = {
    ScopeKind.HOST: host_of,
    ScopeKind.DOMAIN: _domain,
    ScopeKind.PREFIX: _directory,
}
