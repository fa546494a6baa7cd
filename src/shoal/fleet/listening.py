"""Whether an address is free to be listened to, told before anything is started for it."""

from __future__ import annotations

import errno
import socket

from shoal.errors import UsageError


def check_port(host: str, port: int) -> None:
    """Raises UsageError if another listens there, or this machine has no such address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        hint = "; --port names another" if error.errno == errno.EADDRINUSE else ""
        raise UsageError(f"the API cannot listen at {host}, port {port}: {_reason(error)}{hint}") from None


def _reason(error: OSError) -> str:
    """Without what `create_server` adds, which says the address once more."""
    return (error.strerror or str(error)).partition(" (while")[0]
