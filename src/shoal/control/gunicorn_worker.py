"""gunicorn's threaded worker, changed so that a client that sends or reads slowly does not hold a thread.

One loop has all connections. It collects the head of each request and gives only complete ones to a thread. It sends
the rest of a response that the client has not read yet, and waits for clients to close. The number of connections in
each state is limited (`connection_limits.py`). /livez and /readyz have their own threads, so that they are answered
however busy the others are.
"""

from __future__ import annotations

import select
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker
from werkzeug.wsgi import ClosingIterator

from shoal.control.client_address import ClientAddresses
from shoal.control.connection_limits import OTHER_FILES, ConnectionLimits, ConnectionSet, raise_file_limit
from shoal.control.malformed_http import Refusing, refusal
from shoal.control.problems import RETRY_S
from shoal.control.request_deadline import KEY, PIECE, Deadline, DeadlineSettings, Due, TimedStream
from shoal.control.request_head import LIVEZ, READYZ, BadHead, RequestHead
from shoal.control.response_socket import STREAMS, ResponseSocket, UnsentBytes
from shoal.telemetry import EventLogger

ENDING_S = 2.0
ACCEPTS_AT_ONCE = 100
ACCEPT_PAUSE_S = 1.0
LOOK_EVERY_S = 0.25
HEAD_PIECE = 1 << 14
HEALTH_THREADS = {LIVEZ: 1, READYZ: 4}
"""/readyz may wait for servers that do not answer, and /livez must not wait for it."""
SWITCH_S = 0.0005
"""How long a computing thread may hold the interpreter. With Python's 5 ms, thirty threads would delay the loop by a
second."""
DRAINED_BYTES = 1 << 16

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
log = EventLogger(__name__)


class ClientConnection(TConn):
    sock: ResponseSocket

    def __init__(self, cfg: Any, sock: ResponseSocket, peer: Any, server: Any, address: str | None) -> None:
        super().__init__(cfg, sock, peer, server)
        self.address = address
        self.head = RequestHead()
        self.due_at = 0.0
        self.asks_health = False
        self.was_answered = False


class Worker(ThreadWorker):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._times: DeadlineSettings = self.app.times
        self._due: Due = {}
        self._unsent = UnsentBytes()
        self._addresses = ClientAddresses(self.app.trusted_proxies)
        self._accept_at = self._look_at = 0.0

    def init_process(self) -> None:
        wanted: ConnectionLimits = self.app.bounds
        bounds = wanted.within(raise_file_limit(wanted.files + OTHER_FILES))
        self._waiting = ConnectionSet[ClientConnection](bounds.waiting)
        self._requests = ConnectionSet[ClientConnection](bounds.requests)
        self._health = ConnectionSet[ClientConnection](bounds.health)
        self._sending = ConnectionSet[ClientConnection](bounds.sending)
        self._ending = ConnectionSet[ClientConnection](bounds.ending)
        self._health_pools = {path: ThreadPoolExecutor(number) for path, number in HEALTH_THREADS.items()}
        sys.setswitchinterval(SWITCH_S)
        super().init_process()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        app: Wsgi = self.wsgi
        self.wsgi: Wsgi = self._with_deadline(app)

    # The states of a connection in the loop.

    def accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_AT_ONCE):
            try:
                accepted, peer = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._make_room(listener, error)
                return
            sock = ResponseSocket(accepted, self._unsent)
            address = self._addresses.counted(peer)
            self.nr_conns += 1
            self._wait(ClientConnection(self.cfg, sock, peer, listener.getsockname(), address))

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled and time.monotonic() >= self._accept_at)

    def _make_room(self, listener: socket.socket, error: OSError) -> None:
        """Usually no file descriptor is left. The listener stays readable, so without a pause the loop would spin."""
        oldest = self._waiting.oldest()
        if oldest is not None:
            # Without a file descriptor `accept` fails even if no client is waiting.
            if _is_readable(listener):
                self._drop(oldest)
            return
        self._accept_at = time.monotonic() + ACCEPT_PAUSE_S
        log.warning("accept_failed", f"accepting no connections for {ACCEPT_PAUSE_S:g} s: {error.strerror}")
        self.set_accept_enabled(False)

    def _wait(self, connection: ClientConnection) -> None:
        """Waits for the head of a request."""
        in_the_way = self._waiting.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            # Its head may have arrived, but not been read yet.
            self._read_head(in_the_way)
            if in_the_way in self._waiting:
                self._drop(in_the_way)
        connection.due_at = time.monotonic() + self.cfg.keepalive
        self._watch(connection, self._waiting, selectors.EVENT_READ, self._read_head)

    def _read_head(self, connection: ClientConnection) -> None:
        try:
            data = connection.sock.recv(HEAD_PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._add_to_head(connection, data)
        else:
            self._drop(connection)

    def _add_to_head(self, connection: ClientConnection, data: bytes) -> None:
        if connection.head.is_empty:
            connection.due_at = time.monotonic() + self._times.head_s
        try:
            is_complete = connection.head.add(data)
        except BadHead as bad:
            self._refuse(connection, bad.status, bad.detail)
            return
        if is_complete:
            self._begin_answer(connection)

    def _begin_answer(self, connection: ClientConnection) -> None:
        path = connection.head.health_path
        connection.asks_health = path is not None
        counted = self._counted(connection)
        if not counted.has_room_for(connection.address):
            self._refuse(connection, 503, "too many concurrent requests, from this client or in total: try again later")
            return
        self._unwatch(connection, self._waiting)
        counted.add(connection)
        connection.init()
        connection.parser.unreader.unread(connection.head.take())
        pool = self.tpool if path is None else self._health_pools[path]
        answered = pool.submit(self.handle, connection)
        answered.add_done_callback(lambda future: self.method_queue.defer(self.finish_request, connection, future))

    def finish_request(self, conn: ClientConnection, fs: Future[Any]) -> None:
        self._counted(conn).discard(conn)
        conn.was_answered = True
        keeps_alive = not fs.cancelled() and fs.exception() is None and bool(fs.result())
        if conn.sock.has_unsent:
            self._send_rest(conn, keeps_alive)
        else:
            self._after_answer(conn, keeps_alive)

    def _send_rest(self, connection: ClientConnection, keeps_alive: bool) -> None:
        in_the_way = self._sending.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            self._drop(in_the_way)
        connection.due_at = time.monotonic() + self._times.silent_s
        self._watch(connection, self._sending, selectors.EVENT_WRITE, partial(self._send_more, keeps_alive=keeps_alive))

    def _send_more(self, connection: ClientConnection, keeps_alive: bool) -> None:
        try:
            is_left = connection.sock.send_unsent()
        except OSError:
            self._drop(connection)
            return
        connection.due_at = time.monotonic() + self._times.silent_s
        if not is_left:
            self._unwatch(connection, self._sending)
            self._after_answer(connection, keeps_alive)

    def _after_answer(self, connection: ClientConnection, keeps_alive: bool) -> None:
        if not keeps_alive or not self.alive:
            self._end(connection)
            return
        self._wait(connection)
        # The next request may have arrived with the last one: then the socket has nothing to read.
        buffered = connection.parser.unreader.take_buffered()
        if buffered and connection in self._waiting:
            self._add_to_head(connection, buffered)

    def _end(self, connection: ClientConnection) -> None:
        """Lets the client read the response before the connection is closed."""
        in_the_way = self._ending.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            self._drop(in_the_way)
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_WR)
        connection.due_at = time.monotonic() + ENDING_S
        self._watch(connection, self._ending, selectors.EVENT_READ, self._read_to_the_end)

    def _read_to_the_end(self, connection: ClientConnection) -> None:
        try:
            is_over = not connection.sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            self._drop(connection)

    def _refuse(self, connection: ClientConnection, status: int, detail: str) -> None:
        """Only for a connection in the waiting state."""
        self._unwatch(connection, self._waiting)
        with suppress(OSError):
            connection.sock.send(refusal(status, detail, RETRY_S if status == 503 else None))
        self._end(connection)

    def _drop(self, connection: ClientConnection) -> None:
        for state in (self._waiting, self._sending, self._ending):
            if connection in state:
                self._unwatch(connection, state)
        self.nr_conns -= 1
        connection.close()

    def _watch(
        self,
        connection: ClientConnection,
        state: ConnectionSet[ClientConnection],
        event: int,
        act: Callable[[ClientConnection], None],
    ) -> None:
        state.add(connection)
        try:
            connection.sock.setblocking(False)
            self.poller.register(connection.sock, event, partial(self._act, connection, state, act))
        except (OSError, ValueError):
            # gunicorn closed it after a failed response; an exception here would end the process.
            self._drop(connection)

    def _act(
        self,
        connection: ClientConnection,
        state: ConnectionSet[ClientConnection],
        act: Callable[[ClientConnection], None],
        _: Any,
    ) -> None:
        # An earlier event of the same round may have closed it.
        if connection in state:
            act(connection)

    def _unwatch(self, connection: ClientConnection, state: ConnectionSet[ClientConnection]) -> None:
        state.discard(connection)
        with suppress(OSError, ValueError, KeyError):
            self.poller.unregister(connection.sock)

    def _counted(self, connection: ClientConnection) -> ConnectionSet[ClientConnection]:
        return self._health if connection.asks_health else self._requests

    # Timeouts.

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        super().wait_for_and_dispatch_events(timeout)
        now = time.monotonic()
        if now < self._look_at and self.alive:
            return
        self._look_at = now + LOOK_EVERY_S
        for sock, due in list(self._due.items()):
            if now > due:
                self._due.pop(sock, None)
                with suppress(OSError):
                    # Responses can still be sent.
                    sock.shutdown(socket.SHUT_RD)
        self._close_overdue(now)

    def _close_overdue(self, now: float) -> None:
        for connection in self._waiting:
            if self._may_go(connection) or (now > connection.due_at and connection.head.is_empty):
                self._drop(connection)
            elif now > connection.due_at:
                self._refuse(connection, 408, "the head of the request arrived too slowly")
        for state in (self._sending, self._ending):
            for connection in state:
                if now > connection.due_at:
                    self._drop(connection)

    def _may_go(self, connection: ClientConnection) -> bool:
        """While this process stops: a client that has just connected will send a request soon, others will not."""
        if self.alive or not connection.head.is_empty:
            return False
        newcomer_until = connection.due_at - self.cfg.keepalive + ENDING_S
        return connection.was_answered or time.monotonic() > newcomer_until

    def murder_keepalived(self, force: bool = False) -> None:
        """gunicorn calls this at the end: closes the connections that still wait."""
        if force:
            for connection in self._waiting:
                self._drop(connection)

    # Called in a thread.

    def handle_request(self, req: Any, conn: ClientConnection) -> Any:
        # A health response is short: a client that does not read it at once does not get it.
        conn.sock.settimeout(0 if conn.asks_health else self._times.silent_s)
        conn.sock.streams = False
        try:
            return super().handle_request(req, conn)
        except (TimeoutError, BlockingIOError) as error:
            # A client that does not read would not read the end either; the loop would wait for it and log an error.
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)
            raise StopIteration() from error

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        super().handle_error(req, Refusing(client, exc), addr, exc)

    def _keepalive_after(self, conn: ClientConnection, keepalive: bool) -> bool:
        """Closes the connection if the client is still sending an unread body, which would have to be waited for."""
        if not keepalive:
            return False
        conn.sock.settimeout(0)
        try:
            return bool(conn.parser.finish_body(max_bytes=DRAINED_BYTES))
        except BlockingIOError:
            return False

    def _with_deadline(self, app: Wsgi) -> Wsgi:
        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            sock: ResponseSocket = environ["gunicorn.socket"]
            environ[KEY] = deadline = Deadline(sock, self._due, self._times)
            if not environ.get("CONTENT_TYPE", "").lower().startswith("application/json"):
                environ["wsgi.input"] = TimedStream(environ["wsgi.input"], deadline)
            sent = app(environ, start_response)
            sock.streams = bool(environ.get(STREAMS))
            return ClosingIterator(_pieces(sent), getattr(sent, "close", None))

        return answer

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Ctrl-C stops it like SIGTERM; gunicorn's own handler could wait forever for a lock that this thread holds."""
        self.handle_exit(sig, frame)


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _pieces(sent: Iterable[bytes]) -> Iterator[bytes]:
    """The timeout applies to each piece, however long the response is."""
    for part in sent:
        for start in range(0, len(part), PIECE):
            yield part[start : start + PIECE]
