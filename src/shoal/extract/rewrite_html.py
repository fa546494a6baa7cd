"""Rewrites the URLs in an HTML page, so that a copy of it can be looked at without its site.

The result is UTF-8 and says so. `<base>` and what would keep a browser from loading the copies are removed.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from shoal.extract.rewrite_css import Rewrite, rewrite_css

_LINKS = ("href", "src", "poster", "data", "background", "action", "formaction", "cite", "longdesc", "xlink:href")
_SETS = ("srcset", "imagesrcset")
# Possessive: a hostile page must not make them try the same text in many ways.
_CANDIDATE = re.compile(r"[\s,]*+(\S++)([^,(]*+(?:\([^)]*+(?:\)|\Z)[^,(]*+)*+)")
_REFRESH = re.compile(r"([0-9.]*+\s*+[;,]?\s*+url\s*+=\s*+)(.+)", re.IGNORECASE | re.DOTALL)
_HEAD = re.compile("<head(?:>| [^>]*>)")
_BLOCKING = "content-security-policy"


def base_href(page: LexborHTMLParser) -> str | None:
    """Of the first `<base>` that has one."""
    base = page.css_first("base[href]")
    return base.attributes["href"] if base is not None else None


def rewrite_html(page: LexborHTMLParser, rewrite: Rewrite) -> str:
    """Changes the page. `rewrite` knows its base."""
    for node in page.css("*"):
        _rewrite_node(node, rewrite)
    for base in page.css("base"):
        base.decompose()
    has_charset = _set_charset(page)
    html = page.html or ""
    return html if has_charset else _HEAD.sub(lambda found: f'{found[0]}<meta charset="utf-8">', html, count=1)


def _rewrite_node(node: LexborNode, rewrite: Rewrite) -> None:
    attributes = node.attributes
    if node.tag == "style":
        _rewrite_style(node, rewrite)
    if node.tag == "base" or not attributes:
        return
    for name, value in attributes.items():
        if not value:
            continue
        new = _rewritten(node, name, value, rewrite)
        if new != value:
            node.attrs[name] = new
    # A copy of a stylesheet has other bytes than the original, and none comes from an origin.
    for name in ("integrity", "crossorigin"):
        if name in attributes:
            del node.attrs[name]


def _rewritten(node: LexborNode, name: str, value: str, rewrite: Rewrite) -> str:
    if name in _LINKS and (name != "data" or node.tag == "object"):
        return rewrite(value.strip())
    if name in _SETS:
        return ", ".join(f"{rewrite(link)}{about.rstrip()}" for link, about in candidates(value))
    if name == "style":
        return rewrite_css(value, rewrite)
    if name == "content" and (node.attributes.get("http-equiv") or "").lower() == "refresh":
        found = _REFRESH.match(value.strip())
        return f"{found[1]}{rewrite(_unquoted(found[2]))}" if found else value
    return value


def _unquoted(link: str) -> str:
    return link[1:-1] if len(link) > 1 and link[0] == link[-1] and link[0] in "'\"" else link


def candidates(srcset: str) -> list[tuple[str, str]]:
    """Each URL with its descriptor. A URL may have commas inside, but not at its end."""
    found = []
    at = 0
    while match := _CANDIDATE.match(srcset, at):
        link, about = match[1], match[2]
        if link.endswith(","):
            link, about = link.rstrip(","), ""
            at = match.end(1)
        else:
            at = match.end()
        found.append((link, about))
    return found


def _rewrite_style(node: LexborNode, rewrite: Rewrite) -> None:
    text = node.text()
    new = rewrite_css(text, rewrite)
    if new != text:
        node.inner_html = new


def _set_charset(page: LexborHTMLParser) -> bool:
    """Makes the page's own declarations say UTF-8; False if there are none."""
    declared = False
    for meta in page.css("meta"):
        kind = (meta.attributes.get("http-equiv") or "").lower()
        if "charset" in meta.attributes:
            meta.attrs["charset"] = "utf-8"
            declared = True
        elif kind == "content-type":
            meta.attrs["content"] = "text/html; charset=utf-8"
            declared = True
        elif kind == _BLOCKING:
            meta.decompose()
    return declared
