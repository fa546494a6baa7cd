"""How many requests a crawl of real software wastes: wikis, a blog and git browsers as Debian packages them."""
