"""Writes what is known about a job into one HTML file that needs no other: no script, no network."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from shoal.dashboard import formats
from shoal.dashboard.charts import charts
from shoal.dashboard.figures import MARKS, error_share, failed_attempts
from shoal.dashboard.option_form import option_values
from shoal.dashboard.report_charts import bar, host_graph, size_classes, status_mix
from shoal.jobs.job_overview import Overview
from shoal.jobs.job_quality import Quality
from shoal.jobs.mask_secrets import without_secrets
from shoal.store.results.crawl_shape import CrawlShape
from shoal.store.results.quality import changes
from shoal.store.results.time_series import Point
from shoal.wording import plural

_STYLE = Path(__file__).parent / "static/dashboard.css"
MOST_ROWS = 30
"""Of each table: a report is for people."""


@dataclass(frozen=True, slots=True)
class ReportData:
    overview: Overview
    series: Sequence[Point]
    shape: CrawlShape
    quality: Quality
    dead: Sequence[Mapping[str, Any]]
    """Dead letters by reason, status and host."""


def report_html(data: ReportData) -> str:
    environment = Environment(loader=PackageLoader("shoal.dashboard"), autoescape=True)
    environment.filters |= formats.FILTERS
    environment.globals |= {"bar": bar, "plural": plural}
    seen, shape = data.overview, data.shape
    return environment.get_template("report.html").render(
        style=Markup(_STYLE.read_text()),
        now=time.time(),
        job=seen.job,
        seen=seen,
        mark=MARKS[seen.state],
        errors=error_share(data.series, seen.frontier),
        charts=charts(data.series),
        mix=status_mix(seen.stored.by_status),
        shape=shape,
        sizes=size_classes(shape.sizes),
        graph=host_graph(shape.host_links),
        dead=data.dead[:MOST_ROWS],
        attempts=failed_attempts(seen, MOST_ROWS),
        quality=changes(*data.quality),
        options=option_values(without_secrets(seen.job).spec),
    )
