"""The hostile site: what a site may do to a crawler, by mistake or on purpose, each with the expected results."""

from shoal.practice.hostile.browser_attacks import HostileScripts
from shoal.practice.hostile.hostile_site import Hostile

__all__ = ["Hostile", "HostileScripts"]
