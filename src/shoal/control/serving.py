"""The API served by gunicorn: threads in one or more processes, ended gracefully, and no client can hold a thread by
sending or reading slowly.

SIGTERM ends it when what is being answered is; SIGHUP replaces its processes one by one, without a refused connection.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn, ThreadWorker
from werkzeug.wsgi import ClosingIterator

from shoal.control.app import create_app
from shoal.control.deadline import KEY, PIECE, Deadline, Due, Stream, Times
from shoal.control.first_token import make_first_token_later
from shoal.control.unparsed import Refusing, refusal
from shoal.settings import Settings

GRACEFUL_S = 20
UNREAD_S = 0.5
ENDING_S = 2.0

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Application(BaseApplication):
    def __init__(self, settings: Settings, bind: str, processes: int, threads: int, times: Times | None = None) -> None:
        self.needs_token = False
        """To be set if the first token could not be made for want of a database."""
        self._settings = settings
        self._threads = threads
        self.times = times or Times()
        self._config = {
            "bind": bind,
            "workers": processes,
            "threads": threads,
            "worker_class": Worker,
            "logger_class": _Log,
            "graceful_timeout": GRACEFUL_S,
            "keepalive": 15,
            "limit_request_line": 8190,
            "proc_name": "shoal api",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """In each process, after the fork: threads and connections do not survive one."""
        if self.needs_token:
            threading.Thread(target=make_first_token_later, args=(self._settings,), daemon=True).start()
        return create_app(self._settings, self._threads)


class Worker(ThreadWorker):
    """Looks once a second for connections that are overdue, and reads no more from those.

    Nothing here waits for a client in a thread, or in the loop that looks after all of them, where gunicorn would.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._due: Due = {}
        self._ending: Due = {}
        self._without_head: set[socket.socket] = set()
        self._times: Times = self.app.times

    def load_wsgi(self) -> None:
        super().load_wsgi()
        app: Wsgi = self.wsgi
        self.wsgi: Wsgi = self._with_deadline(app)

    def enqueue_req(self, conn: TConn) -> None:
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        # A thread would wait for its first byte.
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def handle(self, conn: TConn) -> Any:
        self._due[conn.sock] = due = time.monotonic() + self._times.head_s
        self._without_head.add(conn.sock)
        try:
            goes_on = super().handle(conn)
            if conn.sock in self._without_head and time.monotonic() > due:
                with suppress(OSError):
                    conn.sock.sendall(refusal(408, "the head of the request came too slowly"))
            return goes_on
        finally:
            self._due.pop(conn.sock, None)
            self._without_head.discard(conn.sock)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        super().handle_error(req, Refusing(client, exc), addr, exc)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        self._due.pop(conn.sock, None)
        self._without_head.discard(conn.sock)
        conn.sock.settimeout(self._times.silent_s)
        try:
            return super().handle_request(req, conn)
        except TimeoutError as error:
            # Who does not read will not read how it ends, either; the loop would wait for that, and log a fault.
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)
            raise StopIteration() from error

    def _keepalive_after(self, conn: TConn, keepalive: bool) -> bool:
        """Whoever is refused before its body was read has a moment to stop sending it."""
        return keepalive and bool(conn.parser.finish_body(deadline=time.monotonic() + UNREAD_S))

    def finish_request(self, conn: TConn, fs: Future[Any]) -> None:
        if fs.cancelled() or fs.exception() is not None or fs.result():
            super().finish_request(conn, fs)
            return
        # The client is to read the answer before it finds the connection closed.
        with suppress(OSError):
            conn.sock.shutdown(socket.SHUT_WR)
        try:
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, self._read_to_the_end)
        except (OSError, ValueError):
            # Of an answer that failed on its way gunicorn has closed it; raised here, it would end the process.
            self.nr_conns -= 1
            conn.close()
            return
        self._ending[conn.sock] = time.monotonic() + ENDING_S

    def _read_to_the_end(self, sock: socket.socket) -> None:
        try:
            is_over = not sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        del self._ending[sock]
        self.poller.unregister(sock)
        sock.close()
        self.nr_conns -= 1

    def _with_deadline(self, app: Wsgi) -> Wsgi:
        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            environ[KEY] = deadline = Deadline(environ["gunicorn.socket"], self._due, self._times)
            if not environ.get("CONTENT_TYPE", "").lower().startswith("application/json"):
                environ["wsgi.input"] = Stream(environ["wsgi.input"], deadline)
            sent = app(environ, start_response)
            return ClosingIterator(_pieces(sent), getattr(sent, "close", None))

        return answer

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Ctrl-C ends it as SIGTERM does; gunicorn's own would wait for ever for a lock that this thread may hold."""
        self.handle_exit(sig, frame)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        super().wait_for_and_dispatch_events(timeout)
        now = time.monotonic()
        for sock, due in list(self._due.items()):
            if now > due:
                self._due.pop(sock, None)
                with suppress(OSError):
                    # Answers can still be sent.
                    sock.shutdown(socket.SHUT_RD)
        for sock in [sock for sock, due in self._ending.items() if now > due]:
            self._close(sock)


def _pieces(sent: Iterable[bytes]) -> Iterator[bytes]:
    """A timeout is for each piece that is sent, however long the answer is."""
    for part in sent:
        for start in range(0, len(part), PIECE):
            yield part[start : start + PIECE]


class _Log(Logger):
    """Into our own log, where every line says when and who."""

    def setup(self, cfg: Any) -> None:
        self.error_log.propagate = True
        self.error_log.handlers = []
        self.access_log.disabled = True
