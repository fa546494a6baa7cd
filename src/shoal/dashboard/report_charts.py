"""Pictures of a report as inline SVG: a bar in a table's row, the mix of status codes, and the hosts that lead to each
other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from shoal.dashboard.charts import status_classes
from shoal.store.results.crawl_shape import SIZES, HostLink

WIDTH, HEIGHT, RADIUS = 640, 360, 125
MOST_NODES = 12
NAME_CHARS = 28


def bar(value: float, most: float, css: str = "rate", inner: float = 0.0) -> Markup:
    """`inner` is the part of the value that is drawn in full colour."""
    whole, part = (100 * n / most if most else 0.0 for n in (value, inner))
    rects = f'<rect class="{css}" width="{whole:.2f}" height="10"/>'
    if inner:
        rects += f'<rect class="{css} full" width="{part:.2f}" height="10"/>'
    return Markup(f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{rects}</svg>')


def status_mix(by_status: Mapping[str, int]) -> Markup:
    """One bar: the share of each class of status codes."""
    counts = status_classes(dict(by_status))
    total, left, rects = sum(counts.values()), 0.0, []
    for name, n in counts.items():
        width = 100 * n / total if total else 0.0
        title = f"<title>{name}: {n:,} ({width:.1f} %)</title>"
        rects.append(f'<rect class="s{name}" x="{left:.2f}" width="{width:.2f}" height="6">{title}</rect>')
        left += width
    label = ", ".join(f"{name} {100 * n / total:.1f} %" for name, n in counts.items() if n) or "no pages"
    start = '<svg class="mix" viewBox="0 0 100 6" preserveAspectRatio="none" role="img"'
    return Markup(f"{start} aria-label={quoteattr(label)}>{''.join(rects)}</svg>")


def size_classes(counts: Sequence[int]) -> list[tuple[str, int]]:
    """The classes from the first to the last that has pages, with their names."""
    bounds = [f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} kB" for size in SIZES]
    between = [f"{low} to {high}" for low, high in pairwise(bounds)]
    names = [f"under {bounds[0]}", *between, f"over {bounds[-1]}"]
    filled = [place for place, n in enumerate(counts) if n]
    return list(zip(names, counts, strict=True))[filled[0] : filled[-1] + 1] if filled else []


def host_graph(links: Sequence[HostLink]) -> Markup:
    """The hosts with most pages on a circle; a line between two is as strong as many pages were found along it. Empty
    if no host led to another."""
    weight: Counter[str] = Counter()
    for link in links:
        weight[link.source] += 0
        weight[link.target] += link.pages
    names = [name for name, _ in weight.most_common(MOST_NODES)]
    places = {name: _place(n, len(names)) for n, name in enumerate(names)}
    shown = [link for link in links if link.source in places and link.target in places and link.source != link.target]
    if not shown:
        return Markup("")
    most_link, most_pages = max(link.pages for link in shown), max(weight.values())
    parts = [_line(link, places, most_link) for link in shown]
    parts += [_node(name, places[name], weight[name], most_pages) for name in names]
    label = f"links between {len(names)} hosts"
    return Markup(
        f'<svg class="graph" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    )


def _place(nth: int, total: int) -> tuple[float, float]:
    angle = 2 * math.pi * nth / total - math.pi / 2
    return WIDTH / 2 + RADIUS * math.cos(angle), HEIGHT / 2 + RADIUS * math.sin(angle)


def _line(link: HostLink, places: Mapping[str, tuple[float, float]], most: int) -> str:
    (x1, y1), (x2, y2) = places[link.source], places[link.target]
    # Bent to one side, so that the lines of both directions are seen.
    bend_x, bend_y = (x1 + x2) / 2 + (y2 - y1) * 0.15, (y1 + y2) / 2 - (x2 - x1) * 0.15
    width = 1 + 5 * math.log1p(link.pages) / math.log1p(most)
    title = f"<title>{escape(link.source)} led to {link.pages:,} pages of {escape(link.target)}</title>"
    path = f"M{x1:.0f},{y1:.0f} Q{bend_x:.0f},{bend_y:.0f} {x2:.0f},{y2:.0f}"
    return f'<path class="edge" d="{path}" stroke-width="{width:.1f}">{title}</path>'


def _node(name: str, place: tuple[float, float], pages: int, most: int) -> str:
    x, y = place
    size = 4 + 14 * math.sqrt(pages / most)
    is_left = x < WIDTH / 2 - 1
    text_x, anchor = (x - size - 5, "end") if is_left else (x + size + 5, "start")
    short = name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…"
    title = f"<title>{escape(name)}: {pages:,} pages</title>"
    text = f'<text x="{text_x:.0f}" y="{y + 4:.0f}" text-anchor="{anchor}">{escape(short)}</text>'
    return f'<circle class="node" cx="{x:.0f}" cy="{y:.0f}" r="{size:.1f}">{title}</circle>{text}'
