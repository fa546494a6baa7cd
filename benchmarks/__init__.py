"""Measures Shoal against Scrapy and Crawlee on one site served from loopback: `python -m benchmarks`."""
