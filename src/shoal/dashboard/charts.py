"""Draws a job's figures over time as inline SVG. All charts of a job have the same time axis.

The SVG has no style and no script: colours come from the style sheet by class. Each period has a tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from shoal.dashboard.formats import rate as rate_text
from shoal.store.results.time_series import MINUTE_S, Point, merge_points
from shoal.wording import plural

WIDTH, HEIGHT, TOP = 640, 120, 18
MOST_POINTS = 160
SPARK_WIDTH, SPARK_HEIGHT, SPARK_POINTS = 100, 20, 30
UNKNOWN = "–"
CLASSES = ("2xx", "3xx", "4xx", "5xx")


Legend = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    """Also the class of its colour."""
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    most: float
    unit: str

    @property
    def text(self) -> str:
        return f"{rate_text(self.most) if self.most < 10 else format(self.most, ',.0f')}{self.unit}"


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    latest: str
    svg: Markup
    legend: Legend = ()
    """Class and name of each line, where there are several."""


def sparkline(rates: Sequence[float], what: str = "pages a second") -> Markup:
    """The last rates as a small line; empty without two values."""
    values = rates[-SPARK_POINTS:]
    if len(values) < 2:
        return Markup("")
    most = max(values) or 1.0
    step = SPARK_WIDTH / (len(values) - 1)
    places = " ".join(
        f"{i * step:.1f},{SPARK_HEIGHT - 1 - value / most * (SPARK_HEIGHT - 2):.1f}" for i, value in enumerate(values)
    )
    label = f"{what}, highest {most:.3g}"
    size = f'viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" width="{SPARK_WIDTH}" height="{SPARK_HEIGHT}"'
    return Markup(
        f'<svg class="spark" {size} role="img" aria-label={quoteattr(label)}><polyline points="{places}"/></svg>'
    )


def charts(points: Sequence[Point]) -> list[Chart]:
    """Rate, statuses, latency and queue; none without two points."""
    shown = _thinned(points)
    if len(shown) < 2:
        return []
    p50, p95 = [point.p50_ms for point in shown], [point.p95_ms for point in shown]
    latency = [Line("p95", p95), Line("p50", p50)]
    return [
        _chart("Pages a second", shown, [Line("rate", [point.pages_per_s for point in shown])], _rate_text),
        _chart(
            "Status codes", shown, _status_lines(shown), _mix_text, most=100.0, unit=" %", legend=_status_legend(shown)
        ),
        _chart("Latency", shown, latency, _latency_text, unit=" ms", legend=[("p50", "median"), ("p95", "95 %")]),
        _chart("Queue", shown, [Line("queue", [point.queue for point in shown])], _queue_text),
    ]


def _chart(
    title: str,
    points: Sequence[Point],
    lines: Sequence[Line],
    text: Callable[[Point], str],
    most: float | None = None,
    unit: str = "",
    legend: Legend = (),
) -> Chart:
    """`most` is the top of the chart; None: the highest value."""
    known = [point for point in points if text(point) != UNKNOWN]
    latest = text(known[-1]) if known else UNKNOWN
    texts = [text(point) for point in points]
    return Chart(
        title,
        latest,
        _svg(f"{title}: {latest}", points, lines, texts, Scale(most or _highest(lines), unit)),
        legend,
    )


def _status_legend(points: Sequence[Point]) -> Legend:
    counts = [status_classes(point.by_status) for point in points]
    return [(f"s{name}", name) for name in CLASSES if any(count[name] for count in counts)]


def _highest(lines: Sequence[Line]) -> float:
    return max((value for line in lines for value in line.values if value is not None), default=0.0) or 1.0


def _rate_text(point: Point) -> str:
    return f"{rate_text(point.pages_per_s)} pages/s"


def _mix_text(point: Point) -> str:
    counts = {name: n for name, n in status_classes(point.by_status).items() if n}
    return ", ".join(f"{name} {_percent(n / max(1, point.pages))}" for name, n in counts.items()) or UNKNOWN


def _percent(share: float) -> str:
    """A few errors must not read as none."""
    is_near_end = 0 < share < 0.01 or 0.99 < share < 1
    return f"{100 * share:.1f} %" if is_near_end else f"{100 * share:.0f} %"


def _latency_text(point: Point) -> str:
    return UNKNOWN if point.p50_ms is None else f"{point.p50_ms:,} ms, {point.p95_ms or 0:,} ms"


def _queue_text(point: Point) -> str:
    return UNKNOWN if point.queue is None else plural(point.queue, "request")


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most MOST_POINTS, so that a page stays small: neighbours become one."""
    if len(points) <= MOST_POINTS:
        return list(points)
    size = -(-len(points) // MOST_POINTS)
    parts = [points[place : place + size] for place in range(0, len(points), size)]
    return [merge_points(part[0].at, part[-1].at + part[-1].seconds - part[0].at, part) for part in parts]


def status_classes(by_status: dict[str, int] | None) -> dict[str, int]:
    counts = dict.fromkeys(CLASSES, 0)
    for status, n in (by_status or {}).items():
        name = f"{status[:1]}xx"
        if name in counts:
            counts[name] += n
    return counts


def _status_lines(points: Sequence[Point]) -> list[Line]:
    """The share of each class, stacked: the line of a class includes those of the classes before it."""
    lines, below = [], [0.0] * len(points)
    for name in CLASSES:
        counts = [status_classes(point.by_status)[name] for point in points]
        below = [base + 100 * n / max(1, point.pages) for base, n, point in zip(below, counts, points, strict=True)]
        values = [share if point.pages else None for share, point in zip(below, points, strict=True)]
        lines.append(Line(f"s{name}", values))
    return lines[::-1]


def _svg(label: str, points: Sequence[Point], lines: Sequence[Line], texts: Sequence[str], scale: Scale) -> Markup:
    start, end = points[0].at, points[-1].at + points[-1].seconds

    def x(at: float) -> float:
        return (at - start) / max(1, end - start) * WIDTH

    def y(value: float) -> float:
        return TOP + (1 - value / scale.most) * (HEIGHT - TOP)

    parts = [
        f'<line class="grid" x1="0" x2="{WIDTH}" y1="{level}" y2="{level}"/>'
        for level in (TOP, (TOP + HEIGHT) // 2, HEIGHT)
    ]
    for line in lines:
        parts += _areas(points, line, x, y)
    for point, text in zip(points, texts, strict=True):
        left, width = x(point.at), max(0.5, x(point.at + point.seconds) - x(point.at))
        box = f'x="{left:.1f}" y="0" width="{width:.1f}" height="{HEIGHT}"'
        parts.append(f'<rect class="hover" {box}><title>{_clock(point.at)}  {escape(text)}</title></rect>')
    parts.append(f'<text x="2" y="{TOP - 4}">{scale.text}</text>')
    parts.append(f'<text x="2" y="{HEIGHT + 17}">{_clock(start)}</text>')
    parts.append(f'<text x="{WIDTH - 2}" y="{HEIGHT + 17}" text-anchor="end">{_clock(end)} UTC</text>')
    size = f'viewBox="0 0 {WIDTH} {HEIGHT + 22}"'
    return Markup(f'<svg class="chart" {size} role="img" aria-label={quoteattr(label)}>{"".join(parts)}</svg>')


def _areas(points: Sequence[Point], line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    """An area for each stretch with values: a time without them is a gap."""
    stretches: list[list[tuple[float, float]]] = [[]]
    end = points[0].at
    for point, value in zip(points, line.values, strict=True):
        if value is None or point.at - end >= MINUTE_S:
            stretches.append([])
        end = point.at + point.seconds
        if value is not None:
            stretches[-1] += [(x(point.at), y(value)), (x(point.at + point.seconds), y(value))]
    made = []
    for stretch in filter(None, stretches):
        corners = [(stretch[0][0], float(HEIGHT)), *stretch, (stretch[-1][0], float(HEIGHT))]
        made.append(f'<polygon class="{line.name}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>')
    return made


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M}"
