"""A behaviour is something a site does besides its pages: a link, the routes behind it, and the expected results.

To add behaviours to the shop, name their module in `site.py`; the page of odds and ends links to each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Site


@dataclass(frozen=True)
class Behaviour:
    link_text: str
    """The text of the link to it."""
    href: str
    routes: Mapping[str, Site] = field(default_factory=dict)
    truth: ExpectedResults = field(default_factory=ExpectedResults)
    rel: str = ""
