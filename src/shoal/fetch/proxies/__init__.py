"""Proxies: which one a request goes through, how well each works, and who is to blame for a failure."""
