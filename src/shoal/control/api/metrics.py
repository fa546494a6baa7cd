"""`/metrics` for Prometheus. It needs no token, because it names no job, host or URL."""

from __future__ import annotations

from flask import Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from shoal.control.metrics import kept_exposition
from shoal.control.routes import Reply, Routes

routes = Routes("metrics", prefix="")


@routes.get("/metrics", None, answers={200: ("text/plain",)})
def metrics() -> Reply:
    """The fleet's metrics in the format of Prometheus."""
    return Response(kept_exposition(), content_type=CONTENT_TYPE_PLAIN_0_0_4)
