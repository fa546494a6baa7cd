"""Ordinary problems of any shop: dead links, failing servers, moved pages, other formats, slow pages."""

from __future__ import annotations

import itertools

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import PLAIN, Answer, Site, Visit, redirect

SLOW_S = 0.3


def common_problems() -> list[Behaviour]:
    """New objects at each call, because some of them count their visits."""
    return [*_failures(), *_moves(), *_off_limits(), *_formats()]


def _failures() -> list[Behaviour]:
    return [
        Behaviour(
            "A sale that is long over (404)",
            "/pages/sale-2019.html",
            truth=ExpectedResults(pages={"/pages/sale-2019.html": 404}),
        ),
        Behaviour(
            "Reviews, which always fail (500)",
            "/pages/reviews.html",
            {"/pages/reviews.html": _always(Answer(500, b"reviews: internal error\n", PLAIN))},
            ExpectedResults(dead={"/pages/reviews.html": 500}),
        ),
        Behaviour(
            "Stock figures, at the third try (503, 503, 200)",
            "/pages/stock.html",
            {"/pages/stock.html": _every_third(_page("Stock", "All shelves are full."))},
            ExpectedResults(pages={"/pages/stock.html": 200}),
        ),
        Behaviour(
            "A slow page",
            "/pages/slow.html",
            {"/pages/slow.html": _always(_page("Slow", "It took a while.")._replace(delay_s=SLOW_S))},
            ExpectedResults(pages={"/pages/slow.html": 200}),
        ),
    ]


def _moves() -> list[Behaviour]:
    chain = {"/old/catalogue": "/old/catalogue.html", "/old/catalogue.html": "/pages/catalogue.html"}
    catalogue = _page("Catalogue", "You have found it.")
    return [
        Behaviour(
            "The catalogue, moved twice (301, 302)",
            "/old/catalogue",
            {
                "/old/catalogue": redirect(301, "/old/catalogue.html"),
                "/old/catalogue.html": redirect(302, "../pages/catalogue.html"),
                "/pages/catalogue.html": _always(catalogue),
            },
            ExpectedResults(pages={"/pages/catalogue.html": 200}, redirects=chain),
        ),
        Behaviour(
            "The basket, which sends you round in circles",
            "/old/basket",
            {"/old/basket": redirect(302, "/old/checkout"), "/old/checkout": redirect(302, "/old/basket")},
            ExpectedResults(redirects={"/old/basket": "/old/checkout"}, dead={"/old/checkout": 302}),
        ),
    ]


def _off_limits() -> list[Behaviour]:
    return [
        Behaviour(
            "Orders, which robots.txt keeps private",
            "/private/orders.html",
            {"/private/*": _always(_page("Orders", "Nobody should read this."))},
            ExpectedResults(dropped={"/private/orders.html": "robots"}),
        ),
        Behaviour(
            "Wholesale (nofollow)",
            "/pages/wholesale.html",
            {"/pages/wholesale.html": _always(_page("Wholesale", "By the pallet."))},
            ExpectedResults(skipped={"/pages/wholesale.html": "nofollow"}),
            rel="nofollow",
        ),
        Behaviour("Another site", "http://outside.invalid/"),
        Behaviour("Write to us", "mailto:shop@outside.invalid"),
    ]


def _formats() -> list[Behaviour]:
    latin = '<!doctype html><html lang="fr"><title>Café</title><h1>Le café, la crème brûlée, déjà ici</h1></html>'
    return [
        Behaviour(
            "Terms as PDF",
            "/files/terms.pdf",
            {"/files/terms.pdf": _always(Answer(200, _PDF, "application/pdf"))},
            ExpectedResults(pages={"/files/terms.pdf": 200}),
        ),
        Behaviour(
            "The café, in Latin-1",
            "/pages/cafe.html",
            {"/pages/cafe.html": _always(Answer(200, latin.encode("latin-1"), "text/html; charset=iso-8859-1"))},
            ExpectedResults(pages={"/pages/cafe.html": 200}),
        ),
    ]


def _always(answer: Answer) -> Site:
    return lambda visit: answer


def _every_third(answer: Answer) -> Site:
    """Two visits fail and the third succeeds, repeatedly, so that each crawl of one server sees the same."""
    visits = itertools.count(1)

    def answer_third(visit: Visit) -> Answer:
        return Answer(503, b"try again\n", PLAIN) if next(visits) % 3 else answer

    return answer_third


def _page(title: str, text: str) -> Answer:
    page = f'<!doctype html><html lang="en-GB"><title>{title}</title><h1>{title}</h1><p>{text} <a href="/">Home</a></p>'
    return Answer(200, page.encode())


_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]>>endobj
xref
0 4
0000000000 65535 f\x20
0000000009 00000 n\x20
0000000052 00000 n\x20
0000000101 00000 n\x20
trailer<</Size 4/Root 1 0 R>>
startxref
164
%%EOF
"""
