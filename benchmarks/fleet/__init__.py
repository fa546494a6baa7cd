"""Measures the fleet: beside scrapy-redis and a Celery task per URL, its lanes, its bounds and its growth."""
