"""scrapyd's JSON API at `/scrapyd/`, so that its clients can deploy, schedule and watch Scrapy projects of a fleet.

Clients that know only a host and a port find the same calls at the root. Its forms and answers are scrapyd's, not those
of `/api/v1`: see https://scrapyd.readthedocs.io/en/latest/api.html and docs/scrapy.md.
"""
