"""The control plane: an HTTP API with which other programs submit, watch and control jobs. It never fetches pages and
never waits for a crawl."""
