"""The loop that joins the four rooms: lease, fetch, landed, extract, store, offer, complete."""
