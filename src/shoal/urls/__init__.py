"""URLs: from any spelling to the one request it stands for, and whether a job wants it."""

from shoal.urls.canonical import Params, canonical, credentials_of, left_out
from shoal.urls.exclusions import Exclusions
from shoal.urls.identity import domain_of, fingerprint, host_of, origin_of, target
from shoal.urls.linked import linked
from shoal.urls.resolve import PageLinks, Resolver
from shoal.urls.scope import Scope
from shoal.urls.traps import Trap, Traps

__all__ = [
    "Exclusions",
    "PageLinks",
    "Params",
    "Resolver",
    "Scope",
    "Trap",
    "Traps",
    "canonical",
    "credentials_of",
    "domain_of",
    "fingerprint",
    "host_of",
    "left_out",
    "linked",
    "origin_of",
    "target",
]
