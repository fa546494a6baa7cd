"""Whether a big page may be given to a tree builder: one pass over its bytes, following what a builder holds open.

It is no parser: where it and lexbor could disagree it means to count the dearer reading, and paragraphs, list items and
others that close themselves are not counted, so a tree may be a few times deeper than the bound.
"""

from __future__ import annotations

import re

MAX_DEPTH = 512
"""The same limit as in Chrome."""
MAX_ATTRIBUTES = 256
MAX_REBUILT = 500_000
"""Each tag may make a builder copy all open formatting elements; 500,000 of lexbor's nodes take 210 MB."""
MAX_TAGS = 500_000
MAX_STEPS = 20_000_000
"""Each tag may make a builder, and this pass, look through all open elements; so many steps take this pass 1 s."""
MAX_UNSURE = 20

_BLANK = rb" \t\n\f\r"
_ATTRIBUTE = (
    rb"[%(b)s/]*+[^%(b)s/>][^%(b)s/>=]*+"
    rb"(?:[%(b)s]*+=[%(b)s]*+(?:\"[^\"]*+\"|'[^']*+'|[^%(b)s>\"'][^%(b)s>]*+|(?=>)))?+" % {b"b": _BLANK}
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
# A tag, comment or declaration; the last branch is one that never ends, with which the page ends.
_TOKEN = re.compile(
    rb"<(?:(/?+)([A-Za-z][^%(b)s/>]*+)((?:%(a)s)*+)[%(b)s/]*+>"
    rb"|!--(?:-?>|.*?--!?>)|(!\[CDATA\[)|[!?][^>]*+>|/[^A-Za-z>][^>]*+>|([A-Za-z!?]|/[A-Za-z!?]))"
    % {b"a": _ATTRIBUTE, b"b": _BLANK},
    re.DOTALL,
)

_VOID = b"area base br col embed hr img input link meta param source track wbr".split()
_UNCOUNTED = frozenset((*_VOID, *b"colgroup dd dt li optgroup option p rp rt".split()))
_TABLE_PARTS = frozenset(b"caption tbody td tfoot th thead tr".split())
_CELLS = frozenset(b"caption td th".split())
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_RAW = frozenset(b"iframe noembed noframes script style textarea title xmp".split())
_FOREIGN = frozenset((b"svg", b"math"))
_BARRIERS = frozenset((*_FOREIGN, *_CELLS, *b"applet marquee object table template".split()))
_RAW_END = {name: re.compile(rb"</%s[ \t\n\f\r/>]" % name, re.IGNORECASE) for name in _RAW}
_REOPENED_SCRIPT = re.compile(rb"<!--.*?<script", re.IGNORECASE | re.DOTALL)


def nesting_problem(html: bytes) -> str | None:
    """Says which limit the page exceeds. None if it may be parsed."""
    return _Preflight(html).run()


class _Preflight:
    __slots__ = ("_foreign", "_formatting", "_html", "_open", "_orphans", "_rebuilt", "_steps", "_tags", "_unsure")

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._open: list[bytes] = []
        self._orphans: list[bytes] = []
        """Formatting elements whose parent was closed first. A tree builder opens them again and again."""
        self._formatting = 0
        """The number of formatting elements that are open, or whose parent was closed first."""
        self._foreign = 0
        self._tags = 0
        self._rebuilt = 0
        self._steps = 0
        self._unsure = 0

    def run(self) -> str | None:
        position = 0
        while token := _TOKEN.search(self._html, position):
            slash, name, attributes, cdata, endless = token.groups()
            position = token.end()
            if endless or name == b"plaintext":
                return None
            if cdata:
                position = self._after_cdata(position)
            if not name:
                continue
            name = name.lower()
            if slash:
                self._end(name)
            else:
                self._start(name)
                if name in _RAW and not self._foreign:
                    position = self._after_raw(name, position)
            if bound := self._exceeded(attributes):
                return bound
        return None

    def _exceeded(self, attributes: bytes) -> str | None:
        depth = len(self._open)
        self._tags += 1
        self._steps += depth
        # Only what lies above the last barrier is copied, but an end tag may take that barrier away.
        self._rebuilt += self._formatting
        if depth > MAX_DEPTH:
            return f"more than {MAX_DEPTH} elements are open at once"
        if len(attributes) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTES.findall(attributes)) > MAX_ATTRIBUTES:
            return f"a tag has more than {MAX_ATTRIBUTES} attributes"
        if self._rebuilt > MAX_REBUILT:
            return f"unclosed formatting elements would be copied more than {MAX_REBUILT:,} times"
        if self._tags > MAX_TAGS:
            return f"it has more than {MAX_TAGS:,} tags"
        if self._steps > MAX_STEPS:
            return f"tags and open elements multiply to more than {MAX_STEPS:,}"
        if self._unsure > MAX_UNSURE:
            return f"more than {MAX_UNSURE} scripts or CDATA sections can be read in two ways"
        return None

    def _start(self, name: bytes) -> None:
        if name in _FORMATTING:
            self._open.append(name)
            self._formatting += 1
        elif name in _TABLE_PARTS:
            self._close_cell()
            if name in _CELLS and b"table" in self._open:
                self._open.append(name)
        elif name in _FOREIGN:
            self._open.append(name)
            self._foreign += 1
        elif name not in _UNCOUNTED and not (name in _RAW and not self._foreign):
            self._open.append(name)

    def _end(self, name: bytes) -> None:
        if name in _TABLE_PARTS:
            self._close_cell()
        elif self._open and self._open[-1] == name:
            self._open.pop()
            self._formatting -= name in _FORMATTING
            self._foreign -= name in _FOREIGN
        elif name in _FORMATTING:
            self._end_formatting(name)
        elif name not in _UNCOUNTED:
            self._end_block(name)

    def _end_formatting(self, name: bytes) -> None:
        at = self._find(name)
        if at is not None:
            del self._open[at]
        elif name in self._orphans and _BARRIERS.isdisjoint(self._open):
            self._orphans.remove(name)
        else:
            return
        self._formatting -= 1

    def _end_block(self, name: bytes) -> None:
        if name == b"table":
            self._close_cell()
        at = self._find(name)
        if at is not None:
            self._orphans += filter(_FORMATTING.__contains__, self._open[at:])
            self._foreign -= name in _FOREIGN
            del self._open[at:]

    def _find(self, name: bytes) -> int | None:
        """The innermost open element with this name, if no barrier is in between."""
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] == name:
                return at
            if self._open[at] in _BARRIERS:
                break
        return None

    def _close_cell(self) -> None:
        """The end of a cell closes the formatting elements in it."""
        for at in range(len(self._open) - 1, -1, -1):
            name = self._open[at]
            if name in _CELLS:
                self._formatting -= sum(map(_FORMATTING.__contains__, self._open[at:]))
                del self._open[at:]
                return
            if name in _BARRIERS:
                return

    def _after_cdata(self, position: int) -> int:
        """Text in foreign elements, a comment that ends at the next ">" elsewhere."""
        if self._foreign:
            self._unsure += 1
            return position
        end = self._html.find(b">", position)
        return len(self._html) if end < 0 else end + 1

    def _after_raw(self, name: bytes, position: int) -> int:
        end = _RAW_END[name].search(self._html, position)
        if end is None:
            return len(self._html)
        if name == b"script" and _REOPENED_SCRIPT.search(self._html, position, end.start()):
            self._unsure += 1
        return end.start()
