"""gunicorn's worker with threads, except that no client holds a thread by what it does not send or read.

One loop has all connections. It collects the head of each request, and gives only whole ones to a thread; it sends
what a client has not taken of its answer, and waits for clients to close. Each of these states is bounded
(`connection_bounds.py`). /livez and /readyz have threads of their own, and are answered however busy the others are.
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

from shoal.control.answer_socket import STREAMS, AnswerSocket, UnsentBytes
from shoal.control.client_address import ClientAddresses
from shoal.control.connection_bounds import OTHER_FILES, Bounds, ConnectionSet, raise_file_limit
from shoal.control.deadline import KEY, PIECE, Deadline, Due, Stream, Times
from shoal.control.problems import RETRY_S
from shoal.control.request_head import LIVEZ, READYZ, BadHead, RequestHead
from shoal.control.unparsed import Refusing, refusal
from shoal.telemetry import Events

ENDING_S = 2.0
ACCEPTS_AT_ONCE = 100
ACCEPT_PAUSE_S = 1.0
LOOK_EVERY_S = 0.25
HEAD_PIECE = 1 << 14
HEALTH_THREADS = {LIVEZ: 1, READYZ: 4}
"""/readyz waits for servers that do not answer: /livez must not wait behind it."""
SWITCH_S = 0.0005
"""How long a thread that computes keeps the interpreter from others. With Python's 5 ms, thirty of them would keep
the loop waiting for a second."""
DRAINED_BYTES = 1 << 16

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
log = Events(__name__)


class Connection(TConn):
    sock: AnswerSocket

    def __init__(self, cfg: Any, sock: AnswerSocket, peer: Any, server: Any, address: str | None) -> None:
        super().__init__(cfg, sock, peer, server)
        self.address = address
        self.head = RequestHead()
        self.due_at = 0.0
        self.asks_health = False
        self.was_answered = False


class Worker(ThreadWorker):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._times: Times = self.app.times
        self._due: Due = {}
        self._unsent = UnsentBytes()
        self._addresses = ClientAddresses(self.app.trusted_proxies)
        self._accept_at = self._look_at = 0.0

    def init_process(self) -> None:
        wanted: Bounds = self.app.bounds
        bounds = wanted.within(raise_file_limit(wanted.files + OTHER_FILES))
        self._waiting = ConnectionSet[Connection](bounds.waiting)
        self._requests = ConnectionSet[Connection](bounds.requests)
        self._health = ConnectionSet[Connection](bounds.health)
        self._sending = ConnectionSet[Connection](bounds.sending)
        self._ending = ConnectionSet[Connection](bounds.ending)
        self._health_pools = {path: ThreadPoolExecutor(number) for path, number in HEALTH_THREADS.items()}
        sys.setswitchinterval(SWITCH_S)
        super().init_process()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        app: Wsgi = self.wsgi
        self.wsgi: Wsgi = self._with_deadline(app)

    # A connection's way through the loop.

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
            sock = AnswerSocket(accepted, self._unsent)
            address = self._addresses.counted(peer)
            self.nr_conns += 1
            self._wait(Connection(self.cfg, sock, peer, listener.getsockname(), address))

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled and time.monotonic() >= self._accept_at)

    def _make_room(self, listener: socket.socket, error: OSError) -> None:
        """As a rule no file is left. The listener stays readable then: without a pause the loop would spin."""
        oldest = self._waiting.oldest()
        if oldest is not None:
            # Without a file `accept` fails also if nobody is there to be accepted.
            if _is_readable(listener):
                self._drop(oldest)
            return
        self._accept_at = time.monotonic() + ACCEPT_PAUSE_S
        log.warning("accept_failed", f"no connection can be accepted for {ACCEPT_PAUSE_S:g} s: {error.strerror}")
        self.set_accept_enabled(False)

    def _wait(self, connection: Connection) -> None:
        """For the head of a request."""
        in_the_way = self._waiting.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            # Its head may have come, and not been looked at yet.
            self._read_head(in_the_way)
            if in_the_way in self._waiting:
                self._drop(in_the_way)
        connection.due_at = time.monotonic() + self.cfg.keepalive
        self._watch(connection, self._waiting, selectors.EVENT_READ, self._read_head)

    def _read_head(self, connection: Connection) -> None:
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

    def _add_to_head(self, connection: Connection, data: bytes) -> None:
        if connection.head.is_empty:
            connection.due_at = time.monotonic() + self._times.head_s
        try:
            is_whole = connection.head.add(data)
        except BadHead as bad:
            self._refuse(connection, bad.status, bad.detail)
            return
        if is_whole:
            self._begin_answer(connection)

    def _begin_answer(self, connection: Connection) -> None:
        path = connection.head.health_path
        connection.asks_health = path is not None
        counted = self._counted(connection)
        if not counted.has_room_for(connection.address):
            self._refuse(connection, 503, "this client, or all clients together, wait for too many answers: try again")
            return
        self._unwatch(connection, self._waiting)
        counted.add(connection)
        connection.init()
        connection.parser.unreader.unread(connection.head.take())
        pool = self.tpool if path is None else self._health_pools[path]
        answered = pool.submit(self.handle, connection)
        answered.add_done_callback(lambda future: self.method_queue.defer(self.finish_request, connection, future))

    def finish_request(self, conn: Connection, fs: Future[Any]) -> None:
        self._counted(conn).discard(conn)
        conn.was_answered = True
        goes_on = not fs.cancelled() and fs.exception() is None and bool(fs.result())
        if conn.sock.has_unsent:
            self._send_rest(conn, goes_on)
        else:
            self._after_answer(conn, goes_on)

    def _send_rest(self, connection: Connection, goes_on: bool) -> None:
        in_the_way = self._sending.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            self._drop(in_the_way)
        connection.due_at = time.monotonic() + self._times.silent_s
        self._watch(connection, self._sending, selectors.EVENT_WRITE, partial(self._send_more, goes_on=goes_on))

    def _send_more(self, connection: Connection, goes_on: bool) -> None:
        try:
            is_left = connection.sock.send_unsent()
        except OSError:
            self._drop(connection)
            return
        connection.due_at = time.monotonic() + self._times.silent_s
        if not is_left:
            self._unwatch(connection, self._sending)
            self._after_answer(connection, goes_on)

    def _after_answer(self, connection: Connection, goes_on: bool) -> None:
        if not goes_on or not self.alive:
            self._end(connection)
            return
        self._wait(connection)
        # The next request may have come with the last one: then the socket has nothing to read.
        come = connection.parser.unreader.take_buffered()
        if come and connection in self._waiting:
            self._add_to_head(connection, come)

    def _end(self, connection: Connection) -> None:
        """The client is to read the answer before it finds the connection closed."""
        in_the_way = self._ending.oldest_in_the_way(connection.address)
        if in_the_way is not None:
            self._drop(in_the_way)
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_WR)
        connection.due_at = time.monotonic() + ENDING_S
        self._watch(connection, self._ending, selectors.EVENT_READ, self._read_to_the_end)

    def _read_to_the_end(self, connection: Connection) -> None:
        try:
            is_over = not connection.sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            self._drop(connection)

    def _refuse(self, connection: Connection, status: int, detail: str) -> None:
        """Of one that waits."""
        self._unwatch(connection, self._waiting)
        with suppress(OSError):
            connection.sock.send(refusal(status, detail, RETRY_S if status == 503 else None))
        self._end(connection)

    def _drop(self, connection: Connection) -> None:
        for state in (self._waiting, self._sending, self._ending):
            if connection in state:
                self._unwatch(connection, state)
        self.nr_conns -= 1
        connection.close()

    def _watch(
        self, connection: Connection, state: ConnectionSet[Connection], event: int, act: Callable[[Connection], None]
    ) -> None:
        state.add(connection)
        try:
            connection.sock.setblocking(False)
            self.poller.register(connection.sock, event, partial(self._act, connection, state, act))
        except (OSError, ValueError):
            # gunicorn has closed it, after an answer that failed on its way; raised here, it would end the process.
            self._drop(connection)

    def _act(
        self, connection: Connection, state: ConnectionSet[Connection], act: Callable[[Connection], None], _: Any
    ) -> None:
        # What came before it in the same round may have closed it.
        if connection in state:
            act(connection)

    def _unwatch(self, connection: Connection, state: ConnectionSet[Connection]) -> None:
        state.discard(connection)
        with suppress(OSError, ValueError, KeyError):
            self.poller.unregister(connection.sock)

    def _counted(self, connection: Connection) -> ConnectionSet[Connection]:
        return self._health if connection.asks_health else self._requests

    # What is overdue.

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
                    # Answers can still be sent.
                    sock.shutdown(socket.SHUT_RD)
        self._close_overdue(now)

    def _close_overdue(self, now: float) -> None:
        for connection in self._waiting:
            if self._may_go(connection) or (now > connection.due_at and connection.head.is_empty):
                self._drop(connection)
            elif now > connection.due_at:
                self._refuse(connection, 408, "the head of the request came too slowly")
        for state in (self._sending, self._ending):
            for connection in state:
                if now > connection.due_at:
                    self._drop(connection)

    def _may_go(self, connection: Connection) -> bool:
        """While this process ends: a client that has just connected is about to ask something, others are not."""
        if self.alive or not connection.head.is_empty:
            return False
        newcomer_until = connection.due_at - self.cfg.keepalive + ENDING_S
        return connection.was_answered or time.monotonic() > newcomer_until

    def murder_keepalived(self, force: bool = False) -> None:
        """gunicorn's name for the end: what still waits then is closed."""
        if force:
            for connection in self._waiting:
                self._drop(connection)

    # In a thread.

    def handle_request(self, req: Any, conn: Connection) -> Any:
        # An answer about health is short, and who does not take it at once does not get it.
        conn.sock.settimeout(0 if conn.asks_health else self._times.silent_s)
        conn.sock.streams = False
        try:
            return super().handle_request(req, conn)
        except (TimeoutError, BlockingIOError) as error:
            # Who does not read will not read how it ends, either; the loop would wait for that, and log a fault.
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)
            raise StopIteration() from error

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        super().handle_error(req, Refusing(client, exc), addr, exc)

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """Not with a client that is still sending a body which nobody wanted: that would have to be waited for."""
        if not keepalive:
            return False
        conn.sock.settimeout(0)
        try:
            return bool(conn.parser.finish_body(max_bytes=DRAINED_BYTES))
        except BlockingIOError:
            return False

    def _with_deadline(self, app: Wsgi) -> Wsgi:
        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            sock: AnswerSocket = environ["gunicorn.socket"]
            environ[KEY] = deadline = Deadline(sock, self._due, self._times)
            if not environ.get("CONTENT_TYPE", "").lower().startswith("application/json"):
                environ["wsgi.input"] = Stream(environ["wsgi.input"], deadline)
            sent = app(environ, start_response)
            sock.streams = bool(environ.get(STREAMS))
            return ClosingIterator(_pieces(sent), getattr(sent, "close", None))

        return answer

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Ctrl-C ends it as SIGTERM does; gunicorn's own would wait for ever for a lock that this thread may hold."""
        self.handle_exit(sig, frame)


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _pieces(sent: Iterable[bytes]) -> Iterator[bytes]:
    """A timeout is for each piece that is sent, however long the answer is."""
    for part in sent:
        for start in range(0, len(part), PIECE):
            yield part[start : start + PIECE]
