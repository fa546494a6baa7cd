"""Ways to an address that nobody on the web has any business with, in every spelling: a cloud's metadata service."""

from __future__ import annotations

from shoal.practice.habits import Habit
from shoal.practice.truth import HostTruth
from shoal.practice.visit import Answer, Visit, redirect

NEVER = "169.254.169.254"
_SPELT = {
    "plain": NEVER,
    "decimal": "2852039166",
    "hex": "0xa9fea9fe",
    "octal": "0251.0376.0251.0376",
    "short": "169.254.43518",
    "wide": "１６９.２５４.１６９.２５４",
    "circled": "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
    "stops": "169。254。169。254",
    "escaped": "%31%36%39.254.169.254",
    "mapped": "[::ffff:169.254.169.254]",
    "nat64": "[64:ff9b::a9fe:a9fe]",
    "6to4": "[2002:a9fe:a9fe::1]",
    "compatible": "[::169.254.169.254]",
    "own": "[fd00:ec2::254]",
    "agent": "168.63.129.16",
    "unspecified": "0.0.0.0",
}
_REDIRECTED, LISTED = "redirected", "listed"
REFUSED = HostTruth(dropped={f"/{name}": "address_refused" for name in (*_SPELT, _REDIRECTED, LISTED)})
"""Of all that leads there; the names stand for the spellings, the last two for a redirect and a sitemap."""


def ways_to_it() -> list[Habit]:
    page, hop = "/never.html", "/elsewhere/never"
    there = f"http://{NEVER}/{_REDIRECTED}"
    return [
        Habit("Addresses for nobody", page, {page: _links}, HostTruth(pages={page: 200})),
        Habit("To one of them", hop, {hop: redirect(302, there)}, HostTruth(redirects={hop: there})),
    ]


def _links(visit: Visit) -> Answer:
    links = "".join(f'<a href="http://{host}/{name}">{name}</a>\n' for name, host in _SPELT.items())
    return Answer(200, f'<!doctype html><meta charset="utf-8"><title>Addresses</title>{links}'.encode())
