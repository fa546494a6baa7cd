"""One running browser: its process, its channels, the listening sockets of its pages, and a watch on its memory.

It ends with this process in three ways: its channel closes, the kernel kills it, and its namespaces have no other
member.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.browser import network_isolation
from shoal.browser.abandoned_profiles import remove_abandoned_profiles
from shoal.browser.chromium_flags import command
from shoal.browser.devtools import BrowserGone, DevTools, DevToolsError, Session
from shoal.browser.find_browser import BrowserMissing
from shoal.browser.process_memory import tree_memory

NOBODY = 65534
LAUNCH_S = 60.0
WATCH_EVERY_S = 0.25
_STDERR_CHARS = 4_000
_TOLD_BYTES = 4_096
# Above those that the browser expects: 0 to 2, its channel at 3 and 4, and the socket of network_isolation at 5.
_FREE_FROM = 16
# Every machine without a desktop causes them.
_NOISE = re.compile(r"dbus|WARNING")
_READ_AT, _WRITE_AT, _CHANNEL_AT = 3, 4, 5


class BrowserProcess:
    """Use `launch`. `gone` is set when the process has ended."""

    def __init__(self, most_renderer_bytes: int, most_browser_bytes: int) -> None:
        self._most_renderer_bytes = most_renderer_bytes
        self._most_browser_bytes = most_browser_bytes
        self.devtools = DevTools()
        self.gone = asyncio.Event()
        self.bytes = 0
        """What all its processes took when it was last measured."""
        self.has_network = True
        """Whether the browser could reach a network if it ignored its proxy."""
        self.is_killed = False
        self.version = ""
        self.pid = 0
        self._folder = ""
        self._pidfd = -1
        self._stderr: asyncio.Transport | None = None
        self._stderr_text = b""
        self._listeners: list[socket.socket] = []
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def launch(
        cls, program: Path, agent: str, listeners: int, most_renderer_bytes: int, most_browser_bytes: int
    ) -> BrowserProcess:
        """Raises BrowserMissing with the reason if the browser does not start."""
        if sys.platform != "linux":
            raise BrowserMissing(f"rendering needs Linux, and this is {sys.platform}: leave --render out")
        await asyncio.to_thread(remove_abandoned_profiles)
        self = cls(most_renderer_bytes, most_browser_bytes)
        try:
            async with asyncio.timeout(LAUNCH_S):
                await self._start(program, agent, listeners)
                self.version = (await self.browser.call("Browser.getVersion"))["product"]
        except (TimeoutError, DevToolsError, OSError) as error:
            await self.close()
            raise BrowserMissing(f"{program} does not start: {self._reason(error)}") from error
        except BaseException:
            # Also if the start is cancelled: nothing of the browser may stay.
            await self.close()
            raise
        # From now on it gets the consoles of pages, and a flood there would block the browser: its writes fail instead.
        self._close_stderr()
        self._watch = asyncio.create_task(self._watch_memory())
        return self

    @property
    def browser(self) -> Session:
        return self.devtools.browser

    @property
    def is_running(self) -> bool:
        return bool(self.pid) and not self.is_killed and not self.gone.is_set() and not self.devtools.is_closed

    def take_listener(self) -> socket.socket | None:
        """A socket that this browser, and if it has no network only this browser, can connect to. None if all are in
        use."""
        if not self.has_network:
            return self._listeners.pop() if self._listeners else None
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(network_isolation.BACKLOG)
        return listener

    def return_listener(self, listener: socket.socket) -> None:
        if self.has_network or self.gone.is_set():
            listener.close()
        else:
            self._listeners.append(listener)

    def kill(self) -> None:
        """Ends all its processes; `gone` follows."""
        self.is_killed = True
        if self.pid and not self.gone.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        self.kill()
        if self.pid:
            await self.gone.wait()
        # What came from network_isolation after the browser had ended.
        self._close_channels()

    async def _start(self, program: Path, agent: str, listeners: int) -> None:
        loop = asyncio.get_running_loop()
        devtools, their_devtools = socket.socketpair()
        channel, their_channel = socket.socketpair()
        stderr, their_stderr = socket.socketpair()
        theirs = [their_devtools, their_devtools, their_channel, their_stderr]
        with channel:
            try:
                self._spawn(program, agent, listeners, [end.fileno() for end in theirs])
            except BaseException:
                # Nobody else closes them: they belong to no transport yet.
                for end in (devtools, stderr):
                    end.close()
                raise
            finally:
                for end in theirs:
                    end.close()
            # Instead of SIGCHLD: it works in any thread and with any event loop.
            self._pidfd = os.pidfd_open(self.pid)
            loop.add_reader(self._pidfd, self._ended)
            self._stderr, _ = await loop.create_unix_connection(lambda: _Stderr(self), sock=stderr)
            await self.devtools.connect(devtools)
            await self._receive_listeners(channel, listeners)

    def _spawn(self, program: Path, agent: str, listeners: int, theirs: list[int]) -> None:
        script = [sys.executable, "-I", "-S", network_isolation.__file__]
        told = [str(_CHANNEL_AT), str(os.getpid()), str(listeners), str(NOBODY), "--"]
        argv = [*script, *told, *command(str(program), agent, network_isolation.PROFILE)]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FREE_FROM) for fd in theirs]
        places = (_READ_AT, _WRITE_AT, _CHANNEL_AT, 2)
        moves: list[Any] = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
        moves += [(os.POSIX_SPAWN_DUP2, fd, place) for fd, place in zip(high, places, strict=True)]
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
        try:
            self.pid = os.posix_spawn(sys.executable, argv, environment, file_actions=moves, setsid=True)
        finally:
            for fd in high:
                os.close(fd)

    async def _receive_listeners(self, channel: socket.socket, listeners: int) -> None:
        channel.setblocking(False)
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(channel, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(channel)
        told, fds, _, _ = socket.recv_fds(channel, _TOLD_BYTES, listeners)
        if not told:
            await self.gone.wait()
            raise BrowserGone("its start without a network failed")
        message = json.loads(told)
        self.has_network, self._folder = not message["no_network"], message["folder"]
        self._listeners = [socket.socket(fileno=fd) for fd in fds]

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG)
        os.close(self._pidfd)
        # Those that it left behind have its process group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if self._watch is not None:
            self._watch.cancel()
        self._close_channels()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self.gone.set()

    async def _watch_memory(self) -> None:
        """No flag limits a renderer: buffers and canvases are outside of the script's heap. RLIMIT_DATA below 8 GB
        keeps Chromium from starting."""
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            processes = tree_memory(self.pid)
            self.bytes = sum(use.bytes for use in processes.values())
            for pid, use in processes.items():
                if use.is_renderer and use.bytes > self._most_renderer_bytes:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
                elif use.bytes > self._most_browser_bytes:
                    self.kill()

    def _reason(self, error: Exception) -> str:
        lines = self._stderr_text.decode("utf-8", "replace").splitlines()
        said = " ".join(line for line in lines if not _NOISE.search(line))
        if "sandbox" in said.lower():
            return f"its sandbox does not work here, and pages are not opened without one; it says: {said[:300]}"
        return said[:300] or str(error) or f"no answer within {LAUNCH_S:.0f} s"

    def _close_channels(self) -> None:
        for listener in self._listeners:
            listener.close()
        self.devtools.close()
        self._close_stderr()

    def _close_stderr(self) -> None:
        if self._stderr is not None:
            self._stderr.close()

    def hear_stderr(self, data: bytes) -> None:
        if len(self._stderr_text) < _STDERR_CHARS:
            self._stderr_text += data[:_STDERR_CHARS]


class _Stderr(asyncio.Protocol):
    """What the browser says while it starts."""

    def __init__(self, process: BrowserProcess) -> None:
        self._process = process

    def data_received(self, data: bytes) -> None:
        self._process.hear_stderr(data)
