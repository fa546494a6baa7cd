"""Logging: events, each with a name for programs and a message for people."""

from shoal.telemetry.log_events import EventLogger, request_id, set_up

__all__ = ["EventLogger", "request_id", "set_up"]
