"""Every key of rules, what it takes and what it says: for the checks, the JSON Schema and the reference alike."""

from __future__ import annotations

from shoal.model import ScopeKind
from shoal.model.bounds import BOUNDS
from shoal.spiders.item import KINDS, Item
from shoal.spiders.rules.shapes import (
    FLAG,
    TRUTH,
    Choice,
    Definition,
    Key,
    Many,
    Named,
    Number,
    Scalar,
    Schema,
    Short,
    Table,
    Text,
)
from shoal.spiders.rules.texts import Address, Selector, UrlPattern
from shoal.urls.traps import ALL
from shoal.urls.traps import RULES as RULES_OF_TRAPS

START = "start"
"""What `to` calls the rules for the pages of `start`."""

_END = r"$(?!\n)"
"""To Python, $ alone also matches before a last newline."""
NAME = Text(
    "a name of at most 100 characters without blanks that begins with a letter",
    r"^(?!model_(?:validate|dump))[^\s\d\x00-\x40\x5b-\x60\x7b-\x9f][^\s\x00-\x1f\x7f-\x9f]{0,99}" + _END,
)
TYPES = {kind: to for to, kind in KINDS.items()}
_TAKEN = tuple(name for name in dir(Item) if not name.startswith("_"))
"""A field of such a name would hide what every Item has."""
_SELECTOR = Selector()
_HEADER = Text("NAME:VALUE", r"^[^:\r\n]*[^:\s][^:\r\n]*:[^\r\n]*" + _END)
_COOKIE = Text("NAME=VALUE", r"^[^=\r\n]*[^=\s][^=\r\n]*=[^\r\n]*" + _END)
_PROXY = Text("http://HOST:PORT (or https, socks5, socks5h)", r"^(https?|socks5h?|socks4a?)://[^/\s]+")
_TITLE = Text("a name", r"^[^\x00-\x1f\x7f-\x9f]{1,200}" + _END)
NUMBERS = {name: Number(bound) for name, bound in BOUNDS.items()}
"""The numbers of a job by the names of its options."""
_PARAMS = Many(Text("the name of a query parameter"))
_PICKS = {
    "css": Key(
        Selector("a CSS selector", kind="css"), "CSS, with ::text, ::attr(name) or ::html at the end if wanted."
    ),
    "xpath": Key(Selector("an XPath 1.0 expression", kind="xpath"), "XPath 1.0."),
    "jsonpath": Key(Selector("a JSONPath that begins with $", kind="jsonpath"), "JSONPath, for a JSON body."),
}
_REGEX = Selector("a regular expression for RE2", kind="regex")
_FIELDS = Named(Short(_SELECTOR, Definition("field", lambda: FIELD)), NAME, _TAKEN, "a mapping from names to selectors")

FIELD: Table = Table(
    "a field",
    {
        **_PICKS,
        "regex": Key(_REGEX, "The first group, or all, of a regular expression over the visible text."),
        "each": Key(
            _SELECTOR, "Elements or JSON values, each of which gives an object of `fields`; the field is their list."
        ),
        "re": Key(_REGEX, "Narrows what css or xpath gave to the first group, or all, of a regular expression."),
        "type": Key(Choice(tuple(sorted(TYPES))), "What the text is made into; text if left out."),
        "list": Key(FLAG, "All that match, instead of the first."),
        "optional": Key(FLAG, "Empty if nothing matches; otherwise the item is rejected."),
        "default": Key(Scalar(), "What stands there if nothing matches."),
        "fields": Key(_FIELDS, "An object with these fields, picked below what matches."),
    },
    one_of=(*_PICKS, "regex", "each"),
    apart=(
        *(("fields", other) for other in ("regex", "re", "type", "list", "default")),
        ("each", "optional"),
        ("jsonpath", "re"),
        ("regex", "re"),
        ("list", "optional"),
        ("list", "default"),
        ("optional", "default"),
    ),
    needs={"each": "fields"},
)

ITEM = Table(
    "an item",
    {
        "each": Key(_SELECTOR, "Elements or JSON values, each of which gives an item; left out, the page gives one."),
        "name": Key(NAME, "The item's type; the name of the rules or of the page if left out."),
        "key": Key(
            Many(Text("the name of a field"), alone=True), "Items equal in these fields are one: the last found."
        ),
        "fields": Key(_FIELDS, "What an item has: a selector by itself, or what is said about fields."),
    },
    required=("fields",),
)

LINK = Table(
    "a follow entry",
    {
        **_PICKS,
        "to": Key(Text(f"the name of a page, or {START}"), "Which rules read the pages; the same as here if left out."),
        "priority": Key(NUMBERS["priority"], "Higher goes first; 0 if left out."),
    },
    one_of=tuple(_PICKS),
)

PAGE = {
    "follow": Key(
        Many(Short(_SELECTOR, LINK)), "Which links lead on: href or src of what matches, or the URLs it gives."
    ),
    "items": Key(Many(ITEM), "What is taken from the page."),
}

OPTIONS = Table(
    "options",
    {
        "rate": Key(NUMBERS["rate"], "Requests per second per host; 0: no limit."),
        "per_host": Key(NUMBERS["per_host"], "Requests in flight per host."),
        "group": Key(Choice(("host", "domain")), "What shares a rate."),
        "scope": Key(Choice(tuple(kind.value for kind in ScopeKind)), "Which links are followed."),
        "include": Key(Many(UrlPattern()), "Only URLs that match one of these."),
        "exclude": Key(Many(UrlPattern()), "No URLs that match one of these."),
        "sitemaps": Key(TRUTH, "Also what the hosts' sitemaps list. A sitemap counts as a page."),
        "max_pages": Key(NUMBERS["max_pages"], "Store at most so many pages."),
        "max_depth": Key(NUMBERS["max_depth"], "Follow links at most so deep."),
        "max_pages_per_host": Key(NUMBERS["max_pages_per_host"], "Store at most so many pages of a host."),
        "max_seconds": Key(NUMBERS["max_seconds"], "Stop after so many seconds; what is in flight has ten more."),
        "retries": Key(NUMBERS["retries"], "Per request."),
        "header": Key(Many(_HEADER), "Headers to send."),
        "cookie": Key(Many(_COOKIE), "Cookies to send where the crawl begins."),
        "proxy": Key(Many(_PROXY), "Fetch through these."),
        "keep_params": Key(_PARAMS, "Query parameters that matter."),
        "drop_params": Key(_PARAMS, "Query parameters that do not."),
        "allow_trap": Key(Many(Choice((*RULES_OF_TRAPS, ALL))), "Follow links that look endless by these rules."),
        "ignore_robots": Key(TRUTH, "Do not ask for or obey robots.txt."),
        "allow_private": Key(TRUTH, "Reach private and loopback addresses."),
        "max_failure_rate": Key(NUMBERS["max_failure_rate"], "The job fails if more than this share is dead."),
        "max_null_share": Key(
            NUMBERS["max_null_share"], "The job fails if a field is empty in more than this share of items."
        ),
        "max_change": Key(
            NUMBERS["max_change"],
            "The job fails if items or filled fields fell by more than this share since the last run.",
        ),
    },
)

_PAGES = Named(Table("a page", PAGE), NAME, (START,), "a mapping from names to pages")

RULES = Table(
    "rules",
    {
        "name": Key(_TITLE, "What the spider is called; the file's name if left out."),
        "start": Key(Many(Address(), alone=True), "Where to start."),
        **PAGE,
        "pages": Key(_PAGES, "Rules for the pages that `to` names."),
        "options": Key(OPTIONS, "Of the job; a flag on the command line wins over them."),
    },
    required=("start",),
)


def schema() -> Schema:
    """For editors; what no schema can see, such as a bad selector, is told when the rules are loaded."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Shoal rules",
        **RULES.schema(),
        "$defs": {"field": FIELD.schema()},
    }
