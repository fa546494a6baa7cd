"""The tags and link relations that matter to a reading."""

MARKED = frozenset({"a", "area", "base", "frame", "html", "iframe", "link", "meta"})
"""Elements that say something about the page or lead away from it."""

UNSEEN = frozenset({"noscript", "script", "style", "template"})
"""Elements whose content no reader sees."""

FOLLOWED_RELS = frozenset(
    {"alternate", "amphtml", "author", "bookmark", "canonical", "help", "license"}
    | {"home", "index", "contents", "toc", "top", "up", "start", "first", "prev", "previous", "next", "last"}
    | {"chapter", "section", "subsection", "appendix", "glossary", "copyright"}
)
"""What a <link> must be to lead to a page; the rest (stylesheet, icon, preload, manifest, ...) feed a browser."""
