"""Many processes around one Redis: Celery carries slices, permissions to lease; the frontier and the store carry the
crawl. `celery -A shoal.fleet worker` finds its app in celery.py."""
