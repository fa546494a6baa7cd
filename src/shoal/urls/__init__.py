"""URLs: from any spelling to the one request it stands for, and whether a job wants it."""

from shoal.urls.canonical import Params, canonical, credentials_of
from shoal.urls.identity import fingerprint, host_of, origin_of, target
from shoal.urls.resolve import PageLinks, Resolver
from shoal.urls.scope import Scope
from shoal.urls.traps import trap

__all__ = [
    "PageLinks",
    "Params",
    "Resolver",
    "Scope",
    "canonical",
    "credentials_of",
    "fingerprint",
    "host_of",
    "origin_of",
    "target",
    "trap",
]
