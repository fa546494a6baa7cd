"""Measures Shoal beside other crawlers on sites served from loopback: `python -m benchmarks`."""
