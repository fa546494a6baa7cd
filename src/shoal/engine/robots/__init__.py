"""Which requests may be fetched: robots.txt, exclusions and other refusals."""
