"""The HTTP API of a fleet measured: bulk submits, status calls during a crawl, long streams."""
