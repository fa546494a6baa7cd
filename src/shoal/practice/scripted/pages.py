"""The HTML of the scripted part. Most pages are an empty shell: a mount, and the script that fills it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from urllib.parse import parse_qs

from shoal.practice.api import product_data
from shoal.practice.catalogue import Branch
from shoal.practice.request import Answer, Site, Visit, not_found
from shoal.practice.scripted.items import cards

LATE_MS = 1_000
_SHELLS: Mapping[str, Mapping[str, str]] = {
    # Path -> attributes of the body, which tell the script what to do.
    "list": {"mode": "list"},
    "scroll": {"mode": "scroll"},
    "more": {"mode": "more"},
    "late": {"mode": "late", "after": str(LATE_MS)},
    "chain": {"mode": "list", "api": "/app/api/slow?page=1"},
    "poll": {"mode": "poll"},
    "shadow-open": {"mode": "shadow", "root": "open"},
    "shadow-closed": {"mode": "shadow", "root": "closed"},
    "routed": {"mode": "routed"},
    "where": {"mode": "where"},
    "private": {"mode": "list", "api": "/private/products?page=1"},
    "login": {"mode": "login"},
    "orders": {"mode": "orders"},
}


def routes(branch: Branch) -> Mapping[str, Site]:
    shells = {f"/app/{name}.html": partial(_shell, branch, data) for name, data in _SHELLS.items()}
    return {
        **shells,
        "/app/plain.html": partial(_plain, branch),
        "/app/either.html": partial(_either, branch),
        "/app/shadow-declared.html": partial(_declared_shadow, branch),
        "/app/moved.html": partial(_moved, branch),
        "/app/frames.html": partial(_frames, branch),
        "/app/frame.html": partial(_frame, branch),
        "/app/product/*": partial(_product, branch),
    }


def _shell(branch: Branch, data: Mapping[str, str], visit: Visit) -> Answer:
    plea = "<noscript>Please enable JavaScript to see our products.</noscript>"
    return _page(branch, data, f'{plea}<div id="app"></div>')


def _plain(branch: Branch, visit: Visit) -> Answer:
    return _page(branch, {}, f"<h1>All products</h1><main>{cards(branch)}</main>", script=False)


def _either(branch: Branch, visit: Visit) -> Answer:
    data = [product_data(branch.product(number)) for number in range(branch.product_count)]
    state = json.dumps(data).replace("<", "\\u003c")
    main = f'<div id="app">{cards(branch)}</div><script type="application/json" id="state">{state}</script>'
    return _page(branch, {"mode": "either"}, main)


def _declared_shadow(branch: Branch, visit: Visit) -> Answer:
    main = f'<product-list><template shadowrootmode="open">{cards(branch)}</template></product-list>'
    return _page(branch, {}, main, script=False)


def _moved(branch: Branch, visit: Visit) -> Answer:
    return _page(branch, {}, '<script>location.replace("/app/list.html")</script>', script=False)


def _frames(branch: Branch, visit: Visit) -> Answer:
    count = -(-branch.product_count // branch.per_page)
    frames = "".join(f'<iframe src="/app/frame.html?page={number}"></iframe>' for number in range(1, count + 1))
    return _page(branch, {}, f"<h1>All products, in frames</h1>{frames}", script=False)


def _frame(branch: Branch, visit: Visit) -> Answer:
    number = parse_qs(visit.query).get("page", ["1"])[-1]
    if not number.isascii() or not number.isdigit():
        return not_found(visit)
    return _shell(branch, {"mode": "frame", "api": f"/api/products?page={number}"}, visit)


def _product(branch: Branch, visit: Visit) -> Answer:
    if branch.product_at(visit.path.removeprefix("/app")) is None:
        return not_found(visit)
    return _shell(branch, {"mode": "product"}, visit)


def _page(branch: Branch, data: Mapping[str, str], main: str, script: bool = True) -> Answer:
    attributes = "".join(f' data-{name}="{value}"' for name, value in data.items())
    source = '<script defer src="/app/app.js"></script>' if script else ""
    page = (
        f'<!doctype html><html lang="{branch.language.code}"><head><meta charset="utf-8"><title>Products</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="/app/app.css">{source}</head><body{attributes}>{main}</body></html>\n'
    )
    return Answer(200, page.encode())
