"""Figures over time as SVG: every period has its place, gaps stay gaps, and nothing in it can run."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from shoal.dashboard.charts import MOST_POINTS, charts, sparkline, status_classes
from shoal.store.results.time_series import Point

START = 1_700_000_040


def minutes(*pages: int) -> list[Point]:
    return [
        Point(START + 60 * n, 60, count, {"200": count}, p50_ms=20 if count else None, p95_ms=90 if count else None)
        for n, count in enumerate(pages)
    ]


def test_a_job_has_charts_of_rate_statuses_latency_and_queue_once_it_has_two_points() -> None:
    assert charts(minutes(60)) == []
    drawn = charts(minutes(60, 120))
    assert [chart.title for chart in drawn] == ["Pages a second", "Status codes", "Latency", "Queue"]
    assert [[name for _, name in chart.legend] for chart in drawn] == [[], ["2xx"], ["median", "95 %"], []]
    assert [chart.latest for chart in drawn] == ["2.0 pages/s", "2xx 100 %", "20 ms, 90 ms", "–"]
    for chart in drawn:
        ElementTree.fromstring(chart.svg)


def test_a_minute_without_pages_is_a_gap_in_the_statuses() -> None:
    (_, statuses, _, _) = charts(minutes(60, 0, 60))
    assert len(re.findall('class="s2xx"', statuses.svg)) == 2


def test_a_time_without_rows_is_a_gap() -> None:
    before, during, after = minutes(60, 60, 60)
    (rate, *_) = charts([before, during, replace(after, at=after.at + 3600)])
    assert len(re.findall('class="rate"', rate.svg)) == 2


def test_a_short_peak_of_a_long_series_stays() -> None:
    points = [replace(point, p95_ms=9000 if n == 7 else 90) for n, point in enumerate(minutes(*[60] * 480))]
    (_, _, latency, _) = charts(points)
    assert ">9,000 ms</text>" in latency.svg


def test_a_long_series_is_thinned_and_keeps_its_ends() -> None:
    (rate, *_) = charts(minutes(*range(1, 481)))
    assert rate.svg.count('class="hover"') == MOST_POINTS
    assert "22:14" in rate.svg and "06:14 UTC" in rate.svg and rate.latest == "8.0 pages/s"
    assert len(rate.svg) < 40_000


def test_a_sparkline_is_as_high_as_its_highest_value() -> None:
    assert sparkline([1]) == ""
    drawn = sparkline([0, 2, 4])
    assert 'points="0.0,19.0 50.0,10.0 100.0,1.0"' in drawn and "highest 4" in drawn
    assert sparkline([0, 0])


def test_a_few_errors_do_not_read_as_none() -> None:
    (_, statuses, _, _) = charts([*minutes(60), Point(START + 60, 60, 1000, {"200": 997, "500": 3})])
    assert statuses.latest == "2xx 99.7 %, 5xx 0.3 %"


def test_statuses_are_counted_by_class() -> None:
    assert status_classes({"200": 2, "204": 1, "404": 5, "999": 7}) == {"2xx": 3, "3xx": 0, "4xx": 5, "5xx": 0}
    assert status_classes(None) == {"2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0}
