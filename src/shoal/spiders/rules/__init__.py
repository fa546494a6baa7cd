"""Spiders without code: rules in YAML or JSON become an ordinary Spider, or one UsageError that lists every fault.

A file is parsed with the position of each value (parse_yaml), checked against the allowed keys and shapes (keys),
checked for consistency (consistency), and only then converted into callbacks and Item classes (build_spider).
"""

from shoal.spiders.rules.build_spider import from_json, load
from shoal.spiders.rules.keys import schema

__all__ = ["from_json", "load", "schema"]
