"""Compares Shoal with other crawlers on sites served from loopback: `python -m benchmarks`."""
