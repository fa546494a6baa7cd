"""Proxies in the store: named lists, and what is known about each proxy."""
