"""The tags and link relations that matter to a reading."""

SAYING = ("base", "meta", "link")
"""Elements that say something about the page."""

LINKS = ("a", "area")
"""Elements that lead away from it,"""

FRAMES = ("frame", "iframe")
"""and those that show another page within it."""

MARKED = frozenset({"html", *SAYING, *LINKS, *FRAMES})

UNSEEN = ("noscript", "script", "style", "template")
"""Elements whose content no reader sees."""

FOLLOWED_RELS = frozenset(
    {"alternate", "amphtml", "author", "bookmark", "canonical", "help", "license"}
    | {"home", "index", "contents", "toc", "top", "up", "start", "first", "prev", "previous", "next", "last"}
    | {"chapter", "section", "subsection", "appendix", "glossary", "copyright"}
)
"""What a <link> must be to lead to a page; the rest (stylesheet, icon, preload, manifest, ...) feed a browser."""
