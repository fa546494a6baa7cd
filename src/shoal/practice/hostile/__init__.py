"""The hostile site: what a site may do to a crawler, by mistake or on purpose, each with what must come of it."""

from shoal.practice.hostile.site import Hostile

__all__ = ["Hostile"]
