"""Why links were not followed and requests were dropped, in words for people; `--json` and the API have the codes."""

from __future__ import annotations

_SKIPPED = {
    "off_scope": "outside the scope",
    "file_type": "of other file types",
    "link_type": "for programs, not people",
    "logout": "that would log out",
    "trap": "that look endless",
}
_DROPPED_BY = {
    "address_refused": "the address guard",
    "excluded": "changed patterns",
    "file_type": "their file type",
    "off_scope": "a changed scope",
    "operator": "the operator",
    "robots": "robots.txt",
    "shape": "the shape of their URL",
}


def skipped_words(reason: str) -> str:
    """As in `4 links outside the scope`. A code without words of its own is good enough."""
    return _SKIPPED.get(reason, reason.replace("_", " "))


def dropped_by(reason: str) -> str:
    """As in `2 dropped by robots.txt`."""
    return _DROPPED_BY.get(reason, reason.replace("_", " "))
