"""The site for the render part: every page is an empty shell, and a script of 40 KB makes its list from JSON.

Page n lists 24 products and leads to pages 2n+1 and 2n+2. When all is there, an element with the id `done` is added.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchmarks.site import Href, address, words, write

PRODUCTS = 24
SCRIPT_BYTES = 40_000
_SHELL = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page {number}</title>'
    '<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><script defer src="/app.js"></script>'
    '</head><body><div id="app" data-of="/data/{number:06}.json"></div></body></html>\n'
)
_STYLE = """
body { font-family: sans-serif; margin: 0 auto; max-width: 60rem; }
#app { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; }
article { border: 1px solid #ccc; border-radius: 4px; padding: 1rem; box-shadow: 0 1px 3px rgb(0 0 0 / 20%); }
"""
_SCRIPT = """
"use strict";
const app = document.getElementById("app");
fetch(app.dataset.of).then((answer) => answer.json()).then((page) => {
  for (const product of page.products) {
    const card = document.createElement("article");
    card.innerHTML = `<h3>${product.name}</h3><p class="price">${product.price}</p><p>${product.about}</p>`;
    app.append(card);
  }
  for (const url of page.links) {
    const link = document.createElement("a");
    link.href = url;
    link.textContent = url;
    app.after(link);
  }
  app.insertAdjacentHTML("afterend", '<p id="done"></p>');
});
"""


def build(root: Path, pages: int, href: Href = address) -> None:
    """Writes so many pages into the directory and removes what was there."""
    write(root, pages, lambda number: _SHELL.format(number=number))
    (root / "style.css").write_text(_STYLE)
    (root / "app.js").write_text(_SCRIPT + _functions(random.Random(1)))
    (root / "data").mkdir()
    for number in range(pages):
        (root / "data" / f"{number:06}.json").write_text(json.dumps(_data(number, pages, href)))


def _data(number: int, pages: int, href: Href) -> dict[str, object]:
    chance = random.Random(number)
    products = [
        {"name": words(chance, 4), "price": f"£{chance.randint(100, 9999) / 100}", "about": words(chance, 30)}
        for _ in range(PRODUCTS)
    ]
    return {"products": products, "links": [href(n) for n in (2 * number + 1, 2 * number + 2) if n < pages]}


def _functions(chance: random.Random) -> str:
    """What a library weighs: functions that are parsed, and of which few are called."""
    text = ""
    while len(text) < SCRIPT_BYTES:
        name = f"f{len(text)}"
        text += f'function {name}(a, b) {{ return a > b ? "{words(chance, 6)}" : a + b * {chance.randint(1, 99)}; }}\n'
        text += f"{name}(1, 2);\n" if chance.random() < 0.2 else ""
    return text
