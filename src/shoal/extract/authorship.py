"""Who wrote a page, when it was published and when it was changed, and what its JSON-LD is mainly about.

JSON-LD comes first, then `article:` cards, then other meta elements and microdata. If none of them tells author and
date, trafilatura looks for a byline; it comes with `shoal[text]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from shoal.extract.document import Document
from shoal.extract.elements import attribute_of, text_of
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.parse_dates import datetime_in
from shoal.extract.readable_text import check_shape

Properties = dict[str, Any]

MOST_AUTHORS = 20
MAX_NAME = 200
MAX_BYLINE_BYTES = 500_000
"""A byline is not looked for in larger pages: that takes seconds."""
_AROUND = frozenset(
    {
        *("WebSite", "Organization", "LocalBusiness", "Corporation", "NewsMediaOrganization", "Person", "ImageObject"),
        *("BreadcrumbList", "ListItem", "SearchAction", "SiteNavigationElement", "WPHeader", "WPFooter", "WPSideBar"),
    }
)
"""Types that describe the site around a page."""
_PAGES = frozenset(
    ("WebPage", "ItemPage", "CollectionPage", "AboutPage", "ContactPage", "ProfilePage", "FAQPage", "QAPage")
)
_AUTHOR_METAS = ("author", "article:author_name", "parsely-author", "dc.creator", "dcterms.creator", "sailthru.author")
_PUBLISHED_METAS = (
    "date",
    "pubdate",
    "publish_date",
    "parsely-pub-date",
    "dc.date",
    "dcterms.created",
    "sailthru.date",
)
_MODIFIED_METAS = ("last-modified", "og:updated_time", "dcterms.modified", "revised")


class Authorship(NamedTuple):
    author: str | None
    """Several names are separated by `; `."""
    published: str | None
    """ISO 8601; likewise `modified`."""
    modified: str | None


def authorship(document: Document, main: Properties | None, json_ld: list[Properties], html: bytes) -> Authorship:
    """`main` is the page's main entity, one of the objects of `json_ld`. Raises UnparsablePage."""
    metas = _metas(document)
    of_entity = main or {}
    by_id = {each["@id"]: each for each in json_ld if isinstance(each.get("@id"), str)}
    author = _names(of_entity.get("author") or of_entity.get("creator"), by_id)
    author = author or _name(_first(metas, _AUTHOR_METAS)) or _name(_not_a_link(metas.get("article:author")))
    author = author or _item_text(document, "author")
    published = _time(of_entity.get("datePublished")) or _time(metas.get("article:published_time"))
    published = published or _time(_first(metas, _PUBLISHED_METAS)) or _time(_item_text(document, "datePublished"))
    modified = _time(of_entity.get("dateModified")) or _time(metas.get("article:modified_time"))
    modified = modified or _time(_first(metas, _MODIFIED_METAS)) or _time(_item_text(document, "dateModified"))
    if author is None or published is None:
        byline = _byline(document, html)
        author, published = author or byline[0], published or byline[1]
    return Authorship(author, published, modified)


def main_entity(json_ld: list[Properties]) -> Properties | None:
    """The object that the page is about: the `mainEntity` of its WebPage, or the first that does not describe the site
    around it. The WebPage itself if there is no other."""
    by_id = {each["@id"]: each for each in json_ld if isinstance(each.get("@id"), str)}
    pages = [each for each in json_ld if _types(each) & _PAGES]
    for page in pages:
        entity = page.get("mainEntity")
        if isinstance(entity, dict) and entity:
            return by_id.get(str(entity.get("@id")), entity)
    others = (each for each in json_ld if (types := _types(each)) and not types & (_AROUND | _PAGES))
    return next(others, None) or (pages[0] if pages else None)


def _types(entity: Mapping[str, Any]) -> set[str]:
    given = entity.get("@type")
    names = given if isinstance(given, list) else [given]
    return {name.rpartition("/")[2] for name in names if isinstance(name, str)}


def _names(value: Any, by_id: Mapping[str, Properties]) -> str | None:
    found = list(dict.fromkeys(filter(None, _each_name(value, by_id))))[:MOST_AUTHORS]
    return "; ".join(found) or None


def _each_name(value: Any, by_id: Mapping[str, Properties]) -> Iterator[str | None]:
    for each in value[:MOST_AUTHORS] if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            named = each if "name" in each else by_id.get(str(each.get("@id")), {})
            name = named.get("name")
            yield from map(_name, name[:MOST_AUTHORS] if isinstance(name, list) else [name])
        else:
            yield _name(_not_a_link(each))


def _name(value: Any) -> str | None:
    return " ".join(value.split())[:MAX_NAME] or None if isinstance(value, str) else None


def _not_a_link(value: Any) -> Any:
    """`article:author` is a name or the URL of a profile."""
    return None if isinstance(value, str) and value.strip().startswith(("http://", "https://", "//")) else value


def _time(value: Any) -> str | None:
    if isinstance(value, list):
        return next(filter(None, map(_time, value[:MOST_AUTHORS])), None)
    try:
        found = datetime_in(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if found is None:
        return None
    has_time = found.time().isoformat() != "00:00:00" or found.tzinfo is not None
    return found.isoformat() if has_time else found.date().isoformat()


def _metas(document: Document) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in document.root.css("meta[property], meta[name]"):
        name = (attribute_of(node, "property") or attribute_of(node, "name") or "").strip().lower()
        content = (attribute_of(node, "content") or "").strip()
        if name and content:
            found.setdefault(name, content)
    return found


def _first(metas: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((metas[name] for name in names if name in metas), None)


def _item_text(document: Document, name: str) -> str | None:
    node = document.root.css_first(f'[itemprop~="{name}"]')
    if node is None:
        return None
    inner = node.css_first('[itemprop~="name"]') if name == "author" else None
    place = inner or node
    value = attribute_of(place, "content") or attribute_of(place, "datetime") or text_of(place)
    return _name(value)


def _byline(document: Document, html: bytes) -> tuple[str | None, str | None]:
    if len(html) > MAX_BYLINE_BYTES:
        return None, None
    try:
        from trafilatura.metadata import extract_metadata
    except ImportError:
        return None, None
    try:
        check_shape(document.root, html)
    except UnparsablePage:
        return None, None
    found = extract_metadata(document.root.html or "", default_url=document.url)
    return (_name(found.author), _time(found.date)) if found is not None else (None, None)
