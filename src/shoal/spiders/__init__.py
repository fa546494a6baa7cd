"""What a user writes for a crawl: spiders, items, rules and lists of URLs."""
