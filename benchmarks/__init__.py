"""Measures Shoal beside Scrapy and Crawlee on sites served from loopback: `python -m benchmarks`."""
