"""Runs many libcurl transfers in the event loop. It does the same as pycurl's AsyncCurlMulti, at a third of its cost.

An event loop needs a handful of system calls to watch a socket and to stop, and libcurl asks for both with every
request, although it keeps the connection. Here an epoll of our own watches the sockets, and the loop watches the epoll
as one file. A socket that a transfer has left stays in it until it is used again, its host closes it, or its host sends
data that was not requested: the rest of a body with a wrong length, a 408, a second response. libcurl checks for such
data only on connections that were idle for a second, and would take it for the response to the next request.
"""

from __future__ import annotations

import asyncio
import os
import select
from contextlib import suppress
from socket import socket as Socket

import pycurl

from shoal.fetch.network_time import network_time_s

_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
_OVER = select.EPOLLERR | select.EPOLLHUP
_ASLEEP = float("inf")


class EpollMulti:
    """Belongs to the event loop of its first transfer."""

    def __init__(self) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._wake_in)
        self.setopt = self._multi.setopt
        self._loop: asyncio.AbstractEventLoop | None = None
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        """Sockets that transfers wait for. The epoll may still contain others."""
        self.unusable_ports: set[int] = set()
        """Local ports of connections that no request may use. A new connection from the same port is fine."""
        self._active: dict[pycurl.Curl, asyncio.Future[float | None]] = {}
        self._due_at = _ASLEEP
        """When libcurl wants to be called, whatever its sockets do."""
        self._timer: asyncio.Handle | None = None
        self._is_beginning = False
        self._timer_at = _ASLEEP

    async def perform(self, curl: pycurl.Curl) -> float | None:
        """Gives the network time of the answer. Raises pycurl.error. However it ends, even by cancellation, the handle
        is free afterwards."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._epoll.fileno(), self._look)
        ended: asyncio.Future[float | None] = self._loop.create_future()
        self._begin(curl, ended)
        try:
            return await ended
        finally:
            if self._active.pop(curl, None) is not None:
                self._multi.remove_handle(curl)

    def _begin(self, curl: pycurl.Curl, ended: asyncio.Future[float | None]) -> None:
        """libcurl asks to be called at once. It sends the request now, and not in another turn of the event loop."""
        assert self._loop is not None
        self._is_beginning = True
        try:
            self._multi.add_handle(curl)
            self._active[curl] = ended
            if self._due_at <= self._loop.time():
                self._due_at = _ASLEEP
                self._act(pycurl.SOCKET_TIMEOUT, 0)
        finally:
            self._is_beginning = False
        self._end_transfers()
        if self._due_at < self._timer_at:
            self._set_timer()

    async def aclose(self) -> None:
        if self._epoll.closed:
            return
        for curl, ended in self._active.items():
            self._multi.remove_handle(curl)
            ended.cancel()
        self._active.clear()
        self._multi.close()
        # Only now: libcurl may still want to watch sockets or set a timer while it closes.
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None:
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _watch(self, what: int, socket: int, _multi: object, _data: object) -> None:
        events = _EVENTS.get(what)
        if events is None:
            self._watched.discard(socket)
            return
        self._watched.add(socket)
        try:
            # Always: only the epoll knows whether it has this socket, or an old one with the same number.
            self._epoll.modify(socket, events)
        except FileNotFoundError:
            self._epoll.register(socket, events)

    def _look(self) -> None:
        for socket, events in self._epoll.poll(0):
            if socket not in self._watched:
                self._handle_idle(socket, events)
                continue
            readable = pycurl.CSELECT_IN if events & (select.EPOLLIN | _OVER) else 0
            self._act(socket, readable | (pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0))
        self._end_transfers()

    def _handle_idle(self, socket: int, events: int) -> None:
        with suppress(OSError):
            if events == select.EPOLLOUT:
                # Its response was there as soon as the request was sent, so nobody waited for it to be readable.
                self._epoll.modify(socket, select.EPOLLIN)
            else:
                self._epoll.unregister(socket)
                self.unusable_ports.add(_local_port(socket))

    def _wake_in(self, wait_ms: int) -> None:
        assert self._loop is not None
        self._due_at = _ASLEEP if wait_ms < 0 else self._loop.time() + wait_ms / 1000
        if self._is_beginning or self._due_at >= self._timer_at:
            # It wakes early and is set again then: most waits are for time limits that are never reached.
            return
        self._set_timer()

    def _set_timer(self) -> None:
        assert self._loop is not None
        if self._timer is not None:
            self._timer.cancel()
        # Later: libcurl must not be called from its own callback.
        self._timer_at, self._timer = self._due_at, self._loop.call_at(self._due_at, self._wake)

    def _wake(self) -> None:
        assert self._loop is not None
        self._timer, self._timer_at = None, _ASLEEP
        if self._due_at <= self._loop.time():
            self._due_at = _ASLEEP
            self._act(pycurl.SOCKET_TIMEOUT, 0)
            self._end_transfers()
        if self._timer is None and self._due_at != _ASLEEP:
            self._set_timer()

    def _act(self, socket: int, events: int) -> None:
        try:
            self._multi.socket_action(socket, events)
        except pycurl.error as error:
            # libcurl will report no transfer any more.
            for curl in list(self._active):
                self._end(curl, error)

    def _end_transfers(self) -> None:
        more = 1
        while more:
            more, ended, failed = self._multi.info_read()
            for curl in ended:
                self._end(curl, None)
            for curl, code, message in failed:
                self._end(curl, pycurl.error(code, message))

    def _end(self, curl: pycurl.Curl, error: pycurl.error | None) -> None:
        ended = self._active.pop(curl)
        # At once: the connection may serve another request before the waiting task runs.
        network_s = network_time_s(curl.getinfo(pycurl.ACTIVESOCKET)) if error is None else None
        with suppress(pycurl.error):
            # If the multi handle has failed, the waiting task must still be notified.
            self._multi.remove_handle(curl)
        if ended.done():
            return
        if error is None:
            ended.set_result(network_s)
        else:
            ended.set_exception(error)


def _local_port(socket: int) -> int:
    with Socket(fileno=os.dup(socket)) as known:
        return int(known.getsockname()[1])
