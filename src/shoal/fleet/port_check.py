"""Checks that a port is free before the API is started."""

from __future__ import annotations

import errno
import socket

from shoal.errors import UsageError


def check_port(host: str, port: int) -> None:
    """Raises UsageError if the port is in use, or this machine does not have the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        hint = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
        raise UsageError(f"the API cannot listen on {host}, port {port}: {_reason(error)}{hint}") from None


def _reason(error: OSError) -> str:
    """Without the suffix of `create_server`, which repeats the address."""
    return (error.strerror or str(error)).partition(" (while")[0]
