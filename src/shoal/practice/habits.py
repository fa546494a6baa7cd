"""A habit is something a site does besides its pages: a link to it, the routes behind, and what must come of it.

A module of habits is added to the shop by naming it in `site.py`; the page of odds and ends links to each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.practice.truth import HostTruth
from shoal.practice.visit import Site


@dataclass(frozen=True)
class Habit:
    says: str
    """The text of its link."""
    href: str
    routes: Mapping[str, Site] = field(default_factory=dict)
    truth: HostTruth = field(default_factory=HostTruth)
    rel: str = ""
