"""Drafts a Shoal spider from the source of a Scrapy spider, which is only parsed and never imported.

What has no equivalent stays in the draft as a comment with the line of the original, and is listed.
"""

from __future__ import annotations

from shoal.spiders.from_scrapy.notes import Note
from shoal.spiders.from_scrapy.read_spider import spiders_in
from shoal.spiders.from_scrapy.write_spider import Draft, draft

__all__ = ["Draft", "Note", "draft", "spiders_in"]
