"""Examples of every call for the OpenAPI document and the docs page: its bodies, and the call with curl and Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.control.routes import Operation

SITE = "https://example.com/"
_RULES = {
    "name": "books",
    "start": ["https://books.example/"],
    "items": [{"each": "article.product", "fields": {"title": {"css": "h3 a"}, "price": {"css": ".price"}}}],
    "follow": [{"css": "li.next a"}],
}


class Example(NamedTuple):
    python: str
    """A call of `shoal.client.Client`."""
    bodies: Mapping[str, Any] = {}
    """By what they show."""


EXAMPLES: Mapping[str, Example] = {
    "submit": Example(
        f'shoal.submit(["{SITE}"], max_pages=100, rate=1)',
        {
            "a site": {"urls": [SITE], "max_pages": 100, "rate": 1},
            "a list of URLs": {"urls": [SITE, f"{SITE}about"], "scope": "listed", "name": "checks"},
            "rules that extract items": {"rules": _RULES, "max_pages": 50},
            "with a webhook": {"urls": [SITE], "webhook": f"{SITE}hook", "webhook_secret": "at least 32 random bytes"},
        },
    ),
    "jobs": Example('list(shoal.jobs(state="running"))'),
    "job": Example('shoal.job("last")'),
    "remove": Example('shoal.remove("last")'),
    "pause": Example('shoal.pause("last")'),
    "resume": Example('shoal.resume("last")'),
    "cancel": Example('shoal.cancel("last")'),
    "change_running": Example(
        'shoal.change("last", max_pages=5000, rate=0.5)',
        {
            "limits and rate": {"max_pages": 5000, "rate": 0.5},
            "patterns": {"exclude": ["*.pdf", "/archive/"]},
            "no limit": {"max_pages": None},
        },
    ),
    "append_urls": Example(f'shoal.append("last", ["{SITE}a", "{SITE}b"])', {"two URLs": [f"{SITE}a", f"{SITE}b"]}),
    "scrape": Example(
        f'shoal.scrape("{SITE}", "markdown", "links")',
        {
            "markdown and links": {"url": SITE, "formats": ["markdown", "links"]},
            "a page that scripts make": {
                "url": "https://shop.example/",
                "render": "always",
                "rendering": {"steps": [{"wait": ".product"}, {"click": "#more", "until_gone": 20}]},
            },
            "items by rules": {"url": "https://books.example/", "rules": _RULES, "timeout_s": 60},
        },
    ),
    "spec": Example('shoal.spec("last")'),
    "overview": Example('shoal.overview("last")'),
    "shape": Example('shoal.shape("last")'),
    "quality": Example('shoal.quality("last")'),
    "series": Example('shoal.series("last")'),
    "size": Example('shoal.size("last")'),
    "pages": Example('list(shoal.pages("last", status=404))'),
    "body": Example('shoal.body("last", "00c0ffee00c0ffee")'),
    "items": Example('list(shoal.items("last"))'),
    "dead": Example('shoal.dead_groups("last", "reason", "host")'),
    "retry": Example(
        'shoal.retry("last", status=503)',
        {"all": {}, "by status": {"status": 503}, "by host": {"host": "example.com"}},
    ),
    "redeliver": Example('shoal.redeliver("last")'),
    "purge": Example('shoal.purge("last", host="example.com")'),
    "explain": Example(f'shoal.explain("last", "{SITE}")'),
    "explanation": Example(f'shoal.explanation("last", "{SITE}")'),
    "export": Example('shoal.export("last", "pages.csv", what="pages")'),
    "archive": Example('shoal.export("last", "job.warc.gz")'),
    "files": Example('list(shoal.files("last"))'),
    "diff": Example('list(shoal.diff("nfkgmtsv2xs", "last"))'),
    "hosts": Example("list(shoal.hosts())"),
    "host": Example('shoal.host("example.com")'),
    "change_host": Example(
        'shoal.change_host("example.com", rate=0.5)',
        {
            "slower": {"rate": 0.5},
            "stop for now": {"paused": True},
            "as each job asks": {"rate": None, "paused": False},
        },
    ),
    "exclusions": Example("shoal.exclusions()"),
    "set_exclusions": Example(
        'shoal.set_exclusions(["example.com", "https://example.org/private/"])',
        {"a host and a part of another": {"lines": ["example.com", "https://example.org/private/"]}},
    ),
    "proxy_pools": Example("shoal.proxy_pools()"),
    "proxy_pool": Example('shoal.proxy_pool("europe")'),
    "set_proxy_pool": Example(
        'shoal.set_proxy_pool("europe", "http://proxy.example:3128 region=de")',
        {"two proxies": {"text": "http://proxy.example:3128 region=de\nsocks5h://ann:{secret:ACME}@gate.example:1080"}},
    ),
    "remove_proxy_pool": Example('shoal.remove_proxy_pool("europe")'),
    "workers": Example("shoal.workers()"),
    "stats": Example("shoal.stats()"),
    "fleet_series": Example("shoal.fleet_series()"),
    "schedules": Example("shoal.schedules()"),
    "schedule": Example('shoal.schedule("nightly")'),
    "add_schedule": Example(
        f'shoal.add_schedule("nightly", "30 4 * * *", {{"urls": ["{SITE}"], "max_pages": 1000}})',
        {
            "every night": {
                "name": "nightly",
                "cron": "30 4 * * *",
                "zone": "Europe/Berlin",
                "job": {"urls": [SITE], "max_pages": 1000},
            }
        },
    ),
    "change": Example(
        'shoal.change_schedule("nightly", paused=True)',
        {"pause": {"paused": True}, "other times": {"cron": "0 5 * * mon"}},
    ),
    "run_schedule": Example('shoal.run_schedule("nightly")'),
    "drop_schedule": Example('shoal.remove_schedule("nightly")'),
    "tokens": Example("shoal.tokens()"),
    "make_token": Example(
        'shoal.add_token("ann", "submit")', {"for a person who submits": {"name": "ann", "scope": "submit"}}
    ),
    "change_token": Example('shoal.change_token("ann", "read")', {"read only": {"scope": "read"}}),
    "revoke_token": Example('shoal.remove_token("ann")'),
}
"""By the name of the operation."""
_PLACES = {
    "jobs": "last",
    "schedules": "nightly",
    "tokens": "ann",
    "hosts": "example.com",
    "pages": "00c0ffee00c0ffee",
    "proxies": "europe",
}
"""A value for a path parameter, by the segment before it."""
_FILES = ("export", "archive", "files", "body")
_QUERIES = {
    "explain": f"?url={SITE}",
    "explanation": f"?url={SITE}",
    "diff": "?other=last",
    "purge": "?host=example.com",
    "dead": "?group=reason,host",
}


def body_examples(operation: Operation) -> dict[str, Any]:
    """As OpenAPI has them."""
    bodies = EXAMPLES[operation.name].bodies if operation.name in EXAMPLES else {}
    return {about: {"value": value} for about, value in bodies.items()}


def code_samples(operation: Operation) -> list[dict[str, str]]:
    """As `x-codeSamples`, which documentation tools show."""
    samples = [{"lang": "curl", "source": curl(operation)}]
    if operation.name in EXAMPLES:
        samples.append({"lang": "Python", "source": EXAMPLES[operation.name].python})
    return samples


def curl(operation: Operation) -> str:
    parts = ["curl"]
    if operation.scope:
        parts.append('-H "Authorization: Bearer $SHOAL_TOKEN"')
    bodies = [value for value in body_examples(operation).values() if value["value"] != {}]
    if operation.method != ("POST" if bodies else "GET"):
        parts.append(f"-X {operation.method}")
    if operation.name in _FILES:
        parts.append("-OJ")
    address = f"$SHOAL_API_URL{_filled(operation)}{_QUERIES.get(operation.name, '')}"
    line = " ".join([*parts, f'"{address}"'])
    return f"{line} \\\n  --json {_quoted(bodies[0]['value'])}" if bodies else line


def _filled(operation: Operation) -> str:
    places = {**_PLACES, **({"jobs": "nfkgmtsv2xs"} if operation.name == "diff" else {})}
    before, filled = "", []
    for segment in operation.path.split("/"):
        filled.append(places[before] if segment.startswith("<") else segment)
        before = segment
    return "/".join(filled)


def _quoted(body: Any) -> str:
    text = json.dumps(body, ensure_ascii=False)
    return "'" + text.replace("'", "'\\''") + "'"
