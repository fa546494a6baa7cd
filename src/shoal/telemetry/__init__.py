"""Logging: events, each with a name for programs and words for people."""

from shoal.telemetry.events import Events, request_id, set_up

__all__ = ["Events", "request_id", "set_up"]
