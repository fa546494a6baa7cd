"""Finds what a page needs to be looked at: its images, stylesheets, scripts and fonts."""

from __future__ import annotations

import json
import re

from selectolax.lexbor import LexborNode

from shoal.extract.document import Document
from shoal.extract.html_tags import SCRIPT_TYPES
from shoal.extract.rewrite_css import rewrite_css
from shoal.extract.rewrite_html import base_href, candidates

_RELS = {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "preload"}
_RELS |= {"modulepreload", "manifest"}
_ATTRIBUTES = {
    # Scripts copy the first to the second when the image comes into view.
    "img": ("data-src", "src"),
    "script": ("src",),
    "input": ("src",),
    "video": ("poster",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "body": ("background",),
    "table": ("background",),
    "td": ("background",),
}
_EMBEDDING = {"object": "data", "embed": "src"}
"""Elements that may embed anything: only pictures are fetched for them."""
_PICTURE = re.compile(r"[^?#]*\.(?:svgz?|png|jpe?g|gif|webp|avif)(?:[?#]|\s*\Z)", re.IGNORECASE)
_IMPORTED = re.compile(
    r"""\b(?:from|import(?:\s*+\()?+)\s*+(?:"((?:\.{0,2}/|https?:)[^"\\\s]++)"|'((?:\.{0,2}/|https?:)[^'\\\s]++)')"""
)
"""In a script: `import "./a.js"`, `export * from "./a.js"`, `import("./a.js")`."""
_TYPES = ("image/", "font/", "application/font", "application/x-font", "text/css")
_OTHERS = (*SCRIPT_TYPES, "application/vnd.ms-fontobject")


def is_asset_type(media_type: str) -> bool:
    return media_type.startswith(_TYPES) or media_type in _OTHERS


def html_assets(document: Document) -> tuple[str | None, list[str]]:
    """The page's base, if it has one, and the URLs as written. Raises UnparsablePage."""
    found: list[str] = []
    page = document.root.parser
    for node in page.css("*"):
        found += _of_node(node)
    return base_href(page), list(dict.fromkeys(found))


def css_assets(text: str) -> list[str]:
    """The URLs as written; a stylesheet that it imports is one of them."""
    found: list[str] = []

    def note(link: str) -> str:
        found.append(link)
        return link

    rewrite_css(text, note)
    return list(dict.fromkeys(found))


def script_assets(text: str) -> list[str]:
    """The scripts that it imports, as written. Names that need an import map are not among them."""
    return list(dict.fromkeys(double or single for double, single in _IMPORTED.findall(text)))


def _of_node(node: LexborNode) -> list[str]:
    if node.tag == "style":
        return css_assets(node.text())
    attributes = node.attributes
    if not attributes:
        return []
    if node.tag == "script" and not attributes.get("src"):
        type_ = (attributes.get("type") or "").lower()
        read = {"importmap": _of_import_map, "module": script_assets}.get(type_)
        return read(node.text()) if read else []
    names = list(_ATTRIBUTES.get(node.tag or "", ()))
    if node.tag == "link" and _RELS & set((attributes.get("rel") or "").lower().split()):
        names.append("href")
    if (name := _EMBEDDING.get(node.tag or "")) and _is_picture(attributes.get(name), attributes.get("type")):
        names.append(name)
    found = [value.strip() for name in names if (value := attributes.get(name)) and not value.startswith("#")]
    for name in ("srcset", "imagesrcset", "data-srcset"):
        if srcset := attributes.get(name):
            found += [link for link, _ in candidates(srcset)]
    if style := attributes.get("style"):
        found += css_assets(style)
    return found


def _is_picture(url: str | None, media_type: str | None) -> bool:
    if media_type:
        return media_type.strip().lower().startswith("image/")
    return url is not None and _PICTURE.match(url) is not None


def _of_import_map(text: str) -> list[str]:
    """The scripts that modules import by name. A name may also be that of a whole folder."""
    try:
        imports = json.loads(text).get("imports")
    except (ValueError, AttributeError, RecursionError):
        return []
    urls = imports.values() if isinstance(imports, dict) else ()
    return [url for url in urls if isinstance(url, str) and not url.endswith("/")]
