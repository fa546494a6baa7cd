"""Extraction: the data and links of a page, and the entries of a sitemap."""
