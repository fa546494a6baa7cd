"""How long a host and the network took for an answer, by the kernel's clock of the connection.

libcurl's own timers include the time in which data waited for our process. On a busy machine that is most of it.
"""

from __future__ import annotations

import socket
import struct

_INFO_BYTES = 60
_LAST_SENT_AND_RECEIVED = struct.Struct("=I4xI")
_OFFSET = 44
"""Of `tcpi_last_data_sent` in Linux's `struct tcp_info`; `tcpi_last_data_recv` follows after one other field."""
LEAST_S = 0.001
"""The kernel counts in steps of 1 to 10 ms."""


def network_time_s(descriptor: int) -> float | None:
    """From the last data sent over this connection to the last data received. None if the system does not tell."""
    if descriptor < 0:
        return None
    try:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=descriptor)
    except OSError:
        return None
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        return None
    finally:
        connection.detach()
    if len(info) < _INFO_BYTES:
        return None
    sent_ms_ago, received_ms_ago = map(int, _LAST_SENT_AND_RECEIVED.unpack_from(info, _OFFSET))
    return max(LEAST_S, (sent_ms_ago - received_ms_ago) / 1000)
