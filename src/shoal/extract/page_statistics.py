"""A page in rough figures, without a parser: how much text, how many links and fields, which scripts and empty mounts.

One pass over the bytes, linear in their number whatever they are. It ends as soon as the page has enough text or links.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_TAGS = 5_000
"""A page that has so many and still not enough text is judged by them."""
MAX_SCRIPTS = 200
MAX_SCRIPT_BYTES = 16 * 1024
"""Of an inline script; the rest of it is not kept."""
_MAX_OPEN_MOUNTS = 8
_HOLLOW_TEXT = 40
"""A mount with less text than this, such as "Loading...", is still empty."""
_TAG = re.compile(rb"(/?)([a-z][^\s/>]*)([^>]*)>")
_ATTRIBUTE = rb"""(?:^|[\s"'/])%s\s*=\s*["']?\s*([^\s"'>]*)"""
_HREF = re.compile(_ATTRIBUTE % b"href")
_ID = re.compile(_ATTRIBUTE % b"id")
_RAW = frozenset((b"noscript", b"script", b"style", b"svg", b"template", b"textarea", b"title"))
_CONTENT = frozenset((b"a", b"form", b"iframe", b"img", b"input", b"li", b"p", b"td", b"video"))
_FIELDS = frozenset((b"input", b"select", b"textarea"))
_FRAMES = frozenset((b"frame", b"iframe"))
_NOT_PAGES = (b"#", b"javascript:", b"mailto:", b"tel:")
_MOUNT_IDS = frozenset(
    b"__docusaurus __next __nuxt ___gatsby app app-container app-mount app-root app-wrapper application ember-app "
    b"main-app mount outlet preact q-app react-app react-root reactroot root site-root spa svelte vue-app".split()
)
_MOUNT_ATTRIBUTES = (b"ng-app", b"data-reactroot", b"data-server-rendered", b"ng-version", b"data-v-app")


class Script(NamedTuple):
    attributes: bytes
    code: bytes


@dataclass(slots=True)
class _Mount:
    """An open element that a script may fill."""

    tag: bytes
    text_before: int
    content_before: int
    depth: int = 1
    """Open elements of the same name."""


@dataclass(slots=True)
class PageStatistics:
    text: int = 0
    """Bytes of visible text without white space."""
    links: int = 0
    """To other pages."""
    fields: int = 0
    frames: int = 0
    has_hollow_mount: bool = False
    has_hollow_element: bool = False
    """An empty custom element."""
    has_shadow_root: bool = False
    """One that the HTML declares."""
    is_enough: bool = False
    """The pass ended before the page did, because there was enough text or links."""
    scripts: list[Script] = field(default_factory=list)
    noscripts: list[bytes] = field(default_factory=list)
    _content: int = 0
    _mounts: list[_Mount] = field(default_factory=list)

    def add_text(self, text: bytes) -> None:
        self.text += len(b"".join(text.replace(b"&nbsp;", b" ").split()))

    def start(self, tag: bytes, attributes: bytes) -> None:
        for mount in self._mounts:
            mount.depth += mount.tag == tag
        if tag in _CONTENT:
            self._content += 1
        self.fields += tag in _FIELDS
        self.frames += tag in _FRAMES
        if tag == b"a":
            href = _HREF.search(attributes)
            self.links += href is not None and not href[1].startswith(_NOT_PAGES)
        elif _is_mount(tag, attributes) and len(self._mounts) < _MAX_OPEN_MOUNTS:
            self._mounts.append(_Mount(tag, self.text, self._content))

    def end(self, tag: bytes) -> None:
        for mount in reversed(self._mounts):
            mount.depth -= mount.tag == tag
            if not mount.depth:
                self._mounts.remove(mount)
                self._judge(mount)

    def raw(self, tag: bytes, attributes: bytes, content: bytes) -> None:
        if tag == b"script" and len(self.scripts) < MAX_SCRIPTS:
            self.scripts.append(Script(attributes, content[:MAX_SCRIPT_BYTES]))
        elif tag == b"noscript" and len(self.noscripts) < MAX_SCRIPTS:
            self.noscripts.append(content[:MAX_SCRIPT_BYTES])
        elif tag == b"template" and b"shadowrootmode" in attributes:
            self.has_shadow_root = True

    def close(self) -> None:
        while self._mounts:
            self._judge(self._mounts.pop())

    def _judge(self, mount: _Mount) -> None:
        if self.text - mount.text_before >= _HOLLOW_TEXT or self._content > mount.content_before:
            return
        if b"-" in mount.tag:
            self.has_hollow_element = True
        else:
            self.has_hollow_mount = True


def shows_enough(html: bytes, most_bytes: int, most_tags: int, enough_text: int, enough_links: int) -> bool:
    """Whether this much of a page has enough text or links. scan_page.c has the same, in a tenth of the time."""
    return page_statistics(html[:most_bytes].lower(), enough_text, enough_links, most_tags).is_enough


def page_statistics(html: bytes, enough_text: int, enough_links: int, most_tags: int = MAX_TAGS) -> PageStatistics:
    """`html` is in lower case."""
    page = PageStatistics()
    last_close = html.rfind(b">")
    position = 0
    for _ in range(most_tags):
        start = html.find(b"<", position)
        page.add_text(html[position : start if start >= 0 else len(html)])
        if page.text >= enough_text or page.links >= enough_links:
            page.is_enough = True
            return page
        # After the last closing sign there is no tag; to look for its end each time would cost the square.
        if not 0 <= start < last_close:
            break
        position = _after(html, start, page)
        if position < 0:
            break
    page.close()
    return page


def _after(html: bytes, start: int, page: PageStatistics) -> int:
    """Takes the tag or comment that starts here into the page; returns where it ends, or -1 if it never does."""
    tag = _TAG.match(html, start + 1)
    if tag is None:
        return _after_declaration(html, start)
    closing, name, attributes = tag.groups()
    if closing:
        page.end(name)
        return tag.end()
    page.start(name, attributes)
    if name not in _RAW:
        return tag.end()
    end = html.find(b"</" + name, tag.end())
    page.raw(name, attributes, html[tag.end() : end if end >= 0 else len(html)])
    return end


def _after_declaration(html: bytes, start: int) -> int:
    if html.startswith(b"<!--", start):
        end = html.find(b"-->", start + 4)
        return end + 3 if end >= 0 else -1
    if html.startswith((b"<!", b"<?", b"</"), start):
        return html.find(b">", start) + 1
    return start + 1


def _is_mount(tag: bytes, attributes: bytes) -> bool:
    if b"-" in tag:
        return True
    if not attributes:
        return False
    name = _ID.search(attributes)
    if name is not None and name[1] in _MOUNT_IDS:
        return True
    return any(attribute in attributes for attribute in _MOUNT_ATTRIBUTES)
