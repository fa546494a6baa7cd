"""The loop that connects frontier, fetch, extract and store: lease, fetch, landed, extract, store, offer, complete."""
