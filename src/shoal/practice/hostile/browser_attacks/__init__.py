"""Pages whose scripts attack the browser that shows them, by name, and a site on which a share of the pages does."""

from shoal.practice.hostile.browser_attacks.attack_site import ATTACKS, HostileScripts

__all__ = ["ATTACKS", "HostileScripts"]
