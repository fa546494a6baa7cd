"""Reader processes: they read pages that may take long, outside the crawling process."""
