"""Saving results: archive, store, links and completed leases, in batches."""
