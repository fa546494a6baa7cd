"""The tags and link relations that the page parsers look at."""

HTML_TYPES = ("text/html", "application/xhtml+xml")
"""The media types of pages."""

SCRIPT_TYPES = ("text/javascript", "application/javascript", "application/x-javascript")
"""The media types of scripts."""

WITH_ASSETS = frozenset((*HTML_TYPES, "text/css", *SCRIPT_TYPES))
"""The media types of documents that may need assets."""

SAYING = ("base", "meta", "link")
"""Elements with facts about the page."""

LINKS = ("a", "area")
"""Elements that link to other pages."""

FRAMES = ("frame", "iframe")
"""Elements that embed another page."""

MARKED = frozenset({"html", *SAYING, *LINKS, *FRAMES})

UNSEEN = ("noscript", "script", "style", "template")
"""Elements whose content is not visible."""

FOLLOWED_RELS = frozenset(
    {"alternate", "amphtml", "author", "bookmark", "canonical", "help", "license"}
    | {"home", "index", "contents", "toc", "top", "up", "start", "first", "prev", "previous", "next", "last"}
    | {"chapter", "section", "subsection", "appendix", "glossary", "copyright"}
)
"""Relations of a <link> to a page. All others (stylesheet, icon, preload, manifest, ...) are for browsers."""

FOLLOWED_TYPES = frozenset(
    {"", *HTML_TYPES, "application/pdf", "application/rss+xml", "application/atom+xml", "application/rdf+xml"}
    | {"application/xml", "text/xml", "application/feed+json"}
)
"""Types of a <link> that lead to something to read, or to a feed. Others are for programs: JSON, oEmbed, raw text."""
