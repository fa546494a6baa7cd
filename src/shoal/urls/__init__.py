"""URLs: canonical form, fingerprints, links, scope, exclusions and traps."""

from shoal.urls.canonical import Params, canonical, credentials_of, left_out
from shoal.urls.exclusions import Exclusions
from shoal.urls.fingerprint import domain_of, fingerprint, host_of, origin_of, target, with_identity
from shoal.urls.resolve_links import PageLinks, Resolver
from shoal.urls.scope import Scope
from shoal.urls.stored_page_links import linked
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
    "with_identity",
]
