"""The paths of the scripted part: a front page with links to the others, their script and style, and the API behind.

The shop does not link here. robots.txt allows all but `/private/`. `/app/plain.html` has the list without any script.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from shoal.practice.catalogue import Branch
from shoal.practice.request import Answer, Site, Visit
from shoal.practice.scripted import api, pages

FRONT = "/app/"
LIST_PAGES = {
    "/app/plain.html": "All products, without a script",
    "/app/list.html": "All products, by script from a JSON API",
    "/app/scroll.html": "More products whenever the end is in sight",
    "/app/more.html": "More products at a click",
    "/app/late.html": "Products a second after the page",
    "/app/chain.html": "Products by slow calls, one after the other",
    "/app/poll.html": "Products, and calls that never end",
    "/app/either.html": "Products that the server sends and a script shows again",
    "/app/shadow-open.html": "Products in open shadow roots",
    "/app/shadow-closed.html": "Products in closed shadow roots",
    "/app/shadow-declared.html": "Products in a shadow root that the HTML declares",
    "/app/routed.html": "Products, and another address in the bar",
    "/app/where.html": "Products, language, time zone and width of the screen",
    "/app/frames.html": "Products in frames",
    "/app/private.html": "Products from calls that robots.txt forbids",
}
"""Path -> link text of every page that lists all products."""
_OTHERS = {
    "/app/moved.html": "A script leads to the list",
    "/app/login.html": "Log in by script",
    "/app/orders.html": "Orders, which a script asks for with a token",
    "/app/orders-plain.html": "Orders for those who have the token as cookie",
}
_CACHED = {"Cache-Control": "max-age=3600"}
_SCRIPT = Path(__file__).with_name("app.js").read_bytes()
_STYLE = Path(__file__).with_name("app.css").read_bytes()


def routes(branch: Branch) -> Mapping[str, Site]:
    return {
        FRONT: _front_page,
        **pages.routes(branch),
        **api.routes(branch),
        "/app/app.js": lambda visit: Answer(200, _SCRIPT, "text/javascript", _CACHED),
        "/app/app.css": lambda visit: Answer(200, _STYLE, "text/css", _CACHED),
        "/app/pebble.woff2": lambda visit: Answer(404, b""),
        "/app/photo/*": _photo,
    }


def _front_page(visit: Visit) -> Answer:
    links = "".join(f'<li><a href="{path}">{escape(text)}</a>\n' for path, text in (LIST_PAGES | _OTHERS).items())
    title = "The shop, by script"
    return Answer(
        200, f'<!doctype html><html lang="en-GB"><title>{title}</title><h1>{title}</h1><ul>\n{links}</ul>'.encode()
    )


def _photo(visit: Visit) -> Answer:
    hue = sum(visit.path.encode()) % 360
    square = f'<path fill="hsl({hue} 50% 50%)" d="M0 0h9v9H0z"/>'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{square}</svg>'
    return Answer(200, picture.encode(), "image/svg+xml", _CACHED)
