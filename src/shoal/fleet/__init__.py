"""Crawls with many processes around one Redis. Celery carries only slices, which are permits to lease; the crawl itself
is in the frontier and the store. `celery -A shoal.fleet worker` finds its app in celery.py."""
