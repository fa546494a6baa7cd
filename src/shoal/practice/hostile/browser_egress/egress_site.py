"""Serves the page that tries every way out, and what its ways need from its own site."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qs, unquote

from shoal.practice.hostile.browser_egress.egress_techniques import ELEMENTS, HEADERS, LAST, SCRIPTS
from shoal.practice.request import Answer, Routes, Visit, redirect

EGRESS_PAGE = "/egress.html"
LEAVES_MS = 4_000
"""When the page goes to the canary itself: after the other ways had their time."""
_SCRIPT = Path(__file__).with_name("egress_page.js").read_text()


@dataclass(frozen=True)
class EgressSite:
    canary: str
    """Host and port of the canary for HTTP."""
    udp: str
    zone: str = "egress.test"
    """Names below it are asked for by ways that must not resolve names."""

    addresses = ("127.0.0.1",)

    def answer(self, visit: Visit) -> Answer:
        return self._routes.answer(visit)

    @property
    def ways(self) -> set[str]:
        return {*ELEMENTS, *SCRIPTS, *HEADERS, LAST}

    @cached_property
    def _routes(self) -> Routes:
        return Routes(
            {
                EGRESS_PAGE: lambda visit: Answer(200, self._page().encode(), headers=self._headers()),
                "/redirect": lambda visit: redirect(302, _query(visit, "to"))(visit),
                "/refresh": lambda visit: Answer(200, b"", headers={"Refresh": f"0; url={_query(visit, 'to')}"}),
                "/run.js": lambda visit: Answer(200, _query(visit, "code").encode(), "text/javascript"),
                "/prerendered": lambda visit: Answer(200, f'<img src="{_query(visit, "to")}">'.encode()),
                "/drawing.svg": _drawing,
                "/document.xml": _document,
            }
        )

    def _page(self) -> str:
        elements = "\n".join(self._filled(name, html) for name, html in ELEMENTS.items())
        calls = "\n".join(f"tryWay('{name}', () => {{ {self._filled(name, js)} }})" for name, js in SCRIPTS.items())
        leave = f"setTimeout(() => location.href = 'http://{self.canary}/{LAST}', {LEAVES_MS})"
        return (
            f"<!doctype html><html><head><title>Ways out</title></head><body><h1>Ways out</h1>\n{elements}\n"
            f"<script>{_SCRIPT}\n{calls}\n{leave}</script></body></html>"
        )

    def _filled(self, name: str, way: str) -> str:
        return way.format(url=f"http://{self.canary}/{name}", canary=self.canary, udp=self.udp, zone=self.zone)

    def _headers(self) -> dict[str, str]:
        return {name: self._filled(name.lower(), value) for name, value in HEADERS.items()}


def _drawing(visit: Visit) -> Answer:
    image = f'<image href="{_query(visit, "to")}" width="9" height="9"/>'
    return Answer(200, f'<svg xmlns="http://www.w3.org/2000/svg">{image}</svg>'.encode(), "image/svg+xml")


def _document(visit: Visit) -> Answer:
    """A document with a stylesheet, an external entity and a schema elsewhere."""
    to = _query(visit, "to")
    document = (
        f'<?xml-stylesheet type="text/xsl" href="{to}"?><!DOCTYPE x SYSTEM "{to}" [<!ENTITY e SYSTEM "{to}">]>'
        "<x>&e;</x>"
    )
    return Answer(200, document.encode(), "application/xml")


def _query(visit: Visit, name: str) -> str:
    return unquote(parse_qs(visit.query).get(name, [""])[-1])
