"""A page that tries every way out of a browser, and canaries that count what gets out."""

from shoal.practice.hostile.probe.canaries import Arrival, Canaries
from shoal.practice.hostile.probe.site import PROBE, ProbeSite

__all__ = ["PROBE", "Arrival", "Canaries", "ProbeSite"]
