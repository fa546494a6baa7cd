"""A page that tries every way out of a browser, and canaries that count what gets out."""

from shoal.practice.hostile.browser_egress.canary_servers import Arrival, Canaries
from shoal.practice.hostile.browser_egress.egress_site import EGRESS_PAGE, EgressSite

__all__ = ["EGRESS_PAGE", "Arrival", "Canaries", "EgressSite"]
