"""A machine between a client and a server that may vanish: it accepts connections and answers nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BLOCK = 1 << 16


class Relay:
    def __init__(self, listener: socket.socket, to: int) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._listener = listener
        self._to = to
        self._is_away = False
        self._open: set[socket.socket] = set()
        self._lost: set[socket.socket] = set()
        """Connections from a time when it was away. They stay silent, also later."""
        self._threads: list[threading.Thread] = []

    def vanish(self) -> None:
        self._is_away = True
        self._lost |= self._open

    def come_back(self) -> None:
        self._is_away = False

    def accept_all(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.add(client)
                if self._is_away:
                    self._lost.add(client)
                thread = threading.Thread(target=self._serve, args=(client,))
                thread.start()
                self._threads.append(thread)

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self._to)) as server:
            back = threading.Thread(target=self._pass_on, args=(client, server, client))
            back.start()
            self._pass_on(client, client, server)
            _end(server)
            back.join()
        self._open.discard(client)

    def _pass_on(self, client: socket.socket, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while some := source.recv(_BLOCK):
                if client not in self._lost:
                    target.sendall(some)
        if client not in self._lost:
            _end(target)

    def close(self) -> None:
        with self._listener:
            _end(self._listener)
        for client in list(self._open):
            _end(client)
        for thread in self._threads:
            thread.join()


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def relaying(port: int) -> Iterator[Relay]:
    relay = Relay(socket.create_server(("127.0.0.1", 0)), port)
    thread = threading.Thread(target=relay.accept_all)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()
