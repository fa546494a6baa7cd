"""Validates broker messages before a worker takes them.

Everyone with access to the broker's Redis can put anything into a lane's queue. On most invalid messages kombu or
Celery raises an error that ends the worker. So each message is checked here first, and an accepted message is written
again from the few fields that are needed, without any other header or property.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, NoReturn

SLICE = "shoal.slice"
SUBMIT = "shoal.submit"
MOST_BYTES = 8_000_000
"""About 100,000 URLs for `shoal.submit`; longer lists go over the API."""
INSPECTING = frozenset(
    ("active", "active_queues", "clock", "conf", "ping", "registered", "reserved", "revoked", "scheduled", "stats")
)
"""Read-only remote control commands, which `celery inspect` and Flower send."""
_WATCHING = frozenset(("enable_events", "disable_events"))
"""Whether the worker publishes an event when a task begins or ends. Flower asks for it."""
_ALLOWED = INSPECTING | _WATCHING
REASONS = ("bad_arguments", "content_type", "not_a_message", "not_json", "remote_control", "too_large", "unknown_task")
"""Why a message is discarded."""
_ID = re.compile(r"[\w.:@-]{1,100}", re.ASCII)
_JSON = "application/json"
Payload = dict[str, Any]


class RefusedMessage(Exception):
    """`reason` is one of REASONS; the message says what is wrong."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def read_task(item: bytes, lane: str) -> Payload:
    """A message for a slice or a submitted job, in kombu's form. Raises RefusedMessage."""
    message = _message(item)
    headers = message["headers"]
    task, id = headers.get("task"), headers.get("id")
    if task not in (SLICE, SUBMIT):
        raise RefusedMessage("unknown_task", f"its task is not {SLICE} or {SUBMIT}")
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise RefusedMessage("not_a_message", "its id is not one that Celery makes")
    if headers.get("eta") is not None or headers.get("expires") is not None:
        raise RefusedMessage("bad_arguments", "countdown, eta and expires are not supported: use a schedule")
    args, kwargs = _arguments(message)
    if task == SLICE and (args != [lane] or kwargs):
        raise RefusedMessage("bad_arguments", "a slice has one argument, the lane of its queue")
    sent = {"lang": "py", "task": task, "id": id, "root_id": id, "retries": 0, "timelimit": [None, None]}
    properties = {"correlation_id": id, "delivery_info": {"exchange": "", "routing_key": lane}}
    return _written([args, kwargs, {}], sent, properties)


def read_control(item: bytes) -> Payload:
    """A read-only remote control command, in kombu's form. Raises RefusedMessage."""
    request = _body(_message(item))
    if not isinstance(request, dict):
        raise RefusedMessage("not_a_message", "its body is not an object")
    method = request.get("method")
    if not isinstance(method, str) or method not in _ALLOWED:
        raise RefusedMessage("remote_control", f"remote control is limited to {', '.join(sorted(_ALLOWED))}")
    if request.get("pattern") is not None or request.get("matcher") is not None:
        raise RefusedMessage("remote_control", "pattern and matcher are not supported: use destination")
    destination, ticket, reply_to = request.get("destination"), request.get("ticket"), request.get("reply_to")
    if not _is_destination(destination) or not isinstance(ticket, str | None) or not _is_reply_to(reply_to):
        raise RefusedMessage("not_a_message", "its destination, ticket or reply_to is not what Celery sends")
    # Without arguments: each of these commands has defaults.
    command = {"method": method, "destination": destination, "ticket": ticket, "reply_to": reply_to}
    return _written(command, {}, {"delivery_info": {"exchange": "celery.pidbox", "routing_key": ""}})


def _message(item: bytes) -> Payload:
    if len(item) > MOST_BYTES:
        raise RefusedMessage("too_large", f"it has {len(item):,} bytes, more than {MOST_BYTES:,}")
    message = _json(item)
    if not isinstance(message, dict):
        raise RefusedMessage("not_a_message", "it is JSON, but not an object")
    if not isinstance(message.get("headers"), dict) or not isinstance(message.get("properties"), dict):
        raise RefusedMessage("not_a_message", "it has no headers or no properties")
    if message.get("content-type") != _JSON:
        raise RefusedMessage("content_type", f"its content type is not {_JSON}")
    if message.get("content-encoding") not in ("utf-8", "UTF-8") or message["headers"].get("compression"):
        raise RefusedMessage("content_type", "it is compressed, or not UTF-8")
    return message


def _arguments(message: Payload) -> tuple[list[Any], Payload]:
    body = _body(message)
    if not isinstance(body, list) or len(body) != 3 or not isinstance(body[0], list) or not isinstance(body[1], dict):
        raise RefusedMessage("not_a_message", "its body is not a list of arguments as in Celery's protocol 2")
    return body[0], body[1]


def _body(message: Payload) -> Any:
    body, encoding = message.get("body"), message["properties"].get("body_encoding")
    if not isinstance(body, str) or encoding not in ("base64", None):
        raise RefusedMessage("not_a_message", "its body is not text, or its body_encoding is not base64")
    try:
        return _json(base64.b64decode(body, validate=True) if encoding else body)
    except ValueError:
        raise RefusedMessage("not_a_message", "its body is not base64") from None


def _json(text: bytes | str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RefusedMessage("not_json", "it is not JSON") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _is_destination(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))


def _is_reply_to(value: Any) -> bool:
    if value is None:
        return True
    names = ("exchange", "routing_key")
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)


def _written(body: object, headers: Payload, properties: Mapping[str, Any]) -> Payload:
    return {
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "content-type": _JSON,
        "content-encoding": "utf-8",
        "headers": headers,
        # A new tag: two messages with the same tag would be acknowledged together.
        "properties": {"body_encoding": "base64", "delivery_tag": str(uuid.uuid4()), "priority": 0, **properties},
    }
