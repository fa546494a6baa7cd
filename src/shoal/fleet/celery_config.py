"""The Celery configuration of a fleet; docs/internals/celery.md gives the reason for each line."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from shoal.errors import UsageError
from shoal.model import Lane
from shoal.settings import Settings

SLICES_PER_CHILD = 200
"""After this many a child is replaced: Python seldom returns memory that it has allocated."""
MEMORY_PER_CHILD_KB = 1_500_000
GRACE_S = 30
"""How long a slice may exceed its time before Celery interrupts it; after twice this its process is killed."""
ANSWER_S = 10.0


def configuration(settings: Settings) -> dict[str, Any]:
    if settings.redis_url is None:
        raise UsageError(
            "a fleet needs Redis: set SHOAL_REDIS_URL, as in redis://localhost:6379/0, or start everything on this "
            "machine with `shoal up`"
        )
    if settings.broker_url is None:
        raise UsageError(
            f"broker_url is not set, and Shoal cannot derive it: the path of redis_url {settings.shown('redis_url')} "
            "is not a database number. Set SHOAL_BROKER_URL, for example redis://localhost:6379/1"
        )
    soft_s = settings.slice_s + GRACE_S
    return {
        "broker_url": verifying(settings.broker_url),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_channel_error_retry": True,
        "broker_transport_options": _transport(settings.broker_url),
        "task_queues": {lane.value: {} for lane in Lane},
        "task_default_queue": Lane.EXPRESS.value,
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_soft_time_limit": soft_s,
        "task_time_limit": soft_s + GRACE_S,
        "worker_disable_prefetch": True,
        "worker_prefetch_multiplier": 1,
        "worker_disable_rate_limits": True,
        "worker_max_tasks_per_child": SLICES_PER_CHILD,
        "worker_max_memory_per_child": MEMORY_PER_CHILD_KB,
        "worker_send_task_events": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_proc_alive_timeout": 30.0,
        "worker_consumer": "shoal.fleet.celery_transport:Consumer",
    }


def verifying(broker_url: str) -> str:
    """Adds verification of the server's certificate: Celery accepts any certificate if the URL has no `ssl_…`."""
    return ";".join(map(_verifying, broker_url.split(";")))


def _verifying(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "rediss" or "ssl_cert_reqs" in parse_qs(parts.query):
        return url
    return parts._replace(query="&".join(filter(None, (parts.query, "ssl_cert_reqs=required")))).geturl()


def _transport(broker_url: str) -> dict[str, Any]:
    if not broker_url.startswith(("redis", "sentinel")):
        return {}
    return {
        # In the order of the lanes, so that a worker takes slices of a better lane first.
        "queue_order_strategy": "priority",
        "socket_timeout": ANSWER_S,
        "socket_connect_timeout": ANSWER_S,
        "socket_keepalive": True,
        "health_check_interval": 25,
        "visibility_timeout": 3600,
    }
