"""Links to an address that no page should lead to, in every notation: the metadata service of a cloud."""

from __future__ import annotations

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Visit, redirect

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
REFUSED = ExpectedResults(dropped={f"/{name}": "address_refused" for name in (*_SPELT, _REDIRECTED, LISTED)})
"""All of them are refused; the names stand for the notations, the last two for a redirect and a sitemap."""


def metadata_links() -> list[Behaviour]:
    page, hop = "/never.html", "/elsewhere/never"
    there = f"http://{NEVER}/{_REDIRECTED}"
    return [
        Behaviour("Addresses for nobody", page, {page: _links}, ExpectedResults(pages={page: 200})),
        Behaviour("To one of them", hop, {hop: redirect(302, there)}, ExpectedResults(redirects={hop: there})),
    ]


def _links(visit: Visit) -> Answer:
    links = "".join(f'<a href="http://{host}/{name}">{name}</a>\n' for name, host in _SPELT.items())
    return Answer(200, f'<!doctype html><meta charset="utf-8"><title>Addresses</title>{links}'.encode())
