"""Whether a page is an empty shell that needs a browser: a guess by its HTML alone.

A page with text or links enough is none, and most pages are known for that by their beginning. A list by script between
much static text is not recognised; a spider or rules that find nothing tell of those.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from shoal.extract.page_statistics import MAX_TAGS, PageStatistics, Script, page_statistics
from shoal.extract.page_statistics import shows_enough as _shows_enough

shows_enough: Callable[[bytes, int, int, int, int], bool]
try:
    from shoal.extract._scan_page import shows_enough
except ImportError:
    shows_enough = _shows_enough

MAX_BYTES = 1_000_000
"""A longer page is not judged, unless its beginning is enough."""
ENOUGH_TEXT = 1_500
ENOUGH_LINKS = 30
_FIRST_BYTES = 64 * 1024
# One search: three took twice the time.
_MAY_SHOW_MORE = re.compile(rb"<(?:[sS][cC][rR][iI][pP][tT]|[tT][eE][mM][pP][lL][aA][tT][eE])")
_PLEA = re.compile(rb"java\s?script")
_TAGS = re.compile(rb"<[^<>]*>")
_COUNTERS = re.compile(
    rb"googletagmanager|google-analytics|gtag|matomo|piwik|plausible|hotjar|facebook\.net|clarity\.ms"
    rb"|cloudflareinsights|adsbygoogle|doubleclick|cookie-?(?:bot|yes|law|consent)|recaptcha|polyfill"
)
_BUILDS = re.compile(
    rb"innerhtml|insertadjacenthtml|append(?:child)?\(|createelement|document\.write|fetch\(|xmlhttprequest|\$\.(?:get|ajax)"
)
_LEAVES = re.compile(rb"\blocation(?:\.href)?\s*=[^=]|\blocation\.(?:replace|assign)\s*\(")
_SOURCE = re.compile(rb"""(?:^|[\s"'/])src\s*=\s*["']?\s*([^\s"'>]+)""")
_TYPE = re.compile(rb"""(?:^|[\s"'/])type\s*=\s*["']?\s*([^\s"'>;]+)""")
_MODULE = b"module"
_CODE_TYPES = frozenset((b"", _MODULE, b"text/javascript", b"application/javascript", b"text/babel", b"text/jsx"))


def needs_render(html: bytes) -> str | None:
    """Why a browser would show more than this UTF-8 does, in a few words; None if it would not."""
    # First: it is the cheapest, and most pages show enough soon.
    if shows_enough(html, _FIRST_BYTES, MAX_TAGS, ENOUGH_TEXT, ENOUGH_LINKS) or not _MAY_SHOW_MORE.search(html):
        return None
    page = page_statistics(html[:MAX_BYTES].lower(), ENOUGH_TEXT, ENOUGH_LINKS)
    return None if page.is_enough or len(html) > MAX_BYTES else _reason(page)


def _reason(page: PageStatistics) -> str | None:
    if page.has_shadow_root and page.text < 200:
        return "declared shadow root"
    scripts = [script for script in page.scripts if _type(script) in _CODE_TYPES]
    inline = [script.code for script in scripts if not _SOURCE.search(script.attributes)]
    if page.text < 200 and page.links < 3 and any(_LEAVES.search(code) for code in inline):
        return "script redirect"
    has_module = any(_type(script) == _MODULE for script in scripts)
    if not has_module and not any(map(_is_own, scripts)):
        return None
    if page.has_hollow_mount or (page.has_hollow_element and page.text < 200):
        return "hollow mount"
    if page.text < 600 and any(_PLEA.search(_TAGS.sub(b" ", noscript)) for noscript in page.noscripts):
        return "noscript plea"
    little = (150, 5) if has_module else (80, 3)
    if page.text < little[0] and page.links < little[1] and not page.fields and not page.frames:
        return "little text"
    return None


def _is_own(script: Script) -> bool:
    """Whether it may show something. Statistics, advertising and consent do not."""
    source = _SOURCE.search(script.attributes)
    if source is not None:
        return not _COUNTERS.search(source[1])
    return bool(_BUILDS.search(script.code)) and not _COUNTERS.search(script.code)


def _type(script: Script) -> bytes:
    found = _TYPE.search(script.attributes)
    return found[1] if found else b""
