"""What a crawl saves while it runs."""
