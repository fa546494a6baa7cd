"""A browser as one more fetcher: request -> exchange, for pages that exist only after a script ran."""
