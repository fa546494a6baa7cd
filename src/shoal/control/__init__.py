"""The control plane: other programs submit, watch and steer jobs over HTTP. It never fetches and never waits for a
crawl."""
