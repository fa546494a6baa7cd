"""What is taken from a page when it is done: its HTML with shadow roots, pictures, PDF."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from shoal.browser import page_scripts
from shoal.browser.page_failure import PageFailed
from shoal.browser.shadow_roots import flatten_shadow_roots
from shoal.fetch.exchange import FailureKind
from shoal.fetch.rendered_page import Picture

if TYPE_CHECKING:
    from shoal.browser.page_visit import PageVisit

MOST_WIDTH, MOST_HEIGHT = 4_000, 20_000
"""Of a screenshot, in CSS pixels. One of 30,000 takes seconds."""


async def capture_html(visit: PageVisit, most_chars: int) -> bytes:
    """Raises PageFailed if the page is larger."""
    length = await visit.evaluate(page_scripts.HTML_LENGTH)
    if not isinstance(length, int | float) or length > most_chars:
        raise PageFailed(FailureKind.TOO_LARGE, f"the rendered page has more than {most_chars:,} characters")
    root = (await visit.session.call("DOM.getDocument", depth=0))["root"]["nodeId"]
    html = await visit.session.call("DOM.getOuterHTML", nodeId=root, includeShadowDOM=True)
    return flatten_shadow_roots(html["outerHTML"]).encode("utf-8", "replace")


async def take_screenshot(visit: PageVisit, box: list[float] | None = None) -> Picture:
    metrics = await visit.session.call("Page.getLayoutMetrics")
    size, scrolled = metrics["cssContentSize"], metrics["cssVisualViewport"]
    clip: dict[str, Any] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    if box is not None:
        x, y, width, height = box
        clip |= {"x": x + scrolled["pageX"], "y": y + scrolled["pageY"], "width": width, "height": height}
    clip["width"], clip["height"] = min(clip["width"], MOST_WIDTH), min(clip["height"], MOST_HEIGHT)
    taken = await visit.session.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    return Picture("view" if box is None else "element", "image/png", base64.b64decode(taken["data"]))


async def print_pdf(visit: PageVisit) -> Picture:
    printed = await visit.session.call("Page.printToPDF", printBackground=True)
    return Picture("pdf", "application/pdf", base64.b64decode(printed["data"]))
