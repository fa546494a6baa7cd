"""Spiders without code: rules in YAML or JSON become an ordinary Spider, or one UsageError that tells every fault.

A file is read with the place of each value (written), held to the keys and shapes there are (keys), asked whether
it makes sense as a whole (meaning), and only then made into callbacks and Item classes (made).
"""

from shoal.spiders.rules.keys import schema
from shoal.spiders.rules.made import from_json, load

__all__ = ["from_json", "load", "schema"]
