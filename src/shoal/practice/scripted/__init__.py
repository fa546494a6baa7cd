"""The part of the shop that needs a browser: pages that scripts make, each of them with the same products."""

from shoal.practice.scripted.items import Item, items
from shoal.practice.scripted.routes import FRONT, LIST_PAGES, routes

__all__ = ["FRONT", "LIST_PAGES", "Item", "items", "routes"]
