"""Starts the browser without a network: `python network_isolation.py SOCKET PARENT LISTENERS USER -- COMMAND...`.

Where the kernel allows it, the browser gets a network namespace of its own that has nothing but loopback. The only way
out of it are the listening sockets that are made here and handed to the parent: the proxy of each page listens there.
A mount namespace of its own gives it an empty /dev/shm, which holds the profile as well: both vanish with the last
process, however it ends. Otherwise the profile is a folder that the browser holds a lock on, and the next start removes
it. The parent is told which it is. With 0 LISTENERS there are no namespaces.

It runs as a script of its own, and imports nothing of Shoal: fork() is not safe in a process with threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import tempfile

_NEWNS, _NEWUSER, _NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV = 2, 4
_PR_SET_PDEATHSIG = 1
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
SHM = "/dev/shm"
_SHM_OPTIONS = b"size=1g,mode=1777"
BACKLOG = 128
PROFILE_PREFIX = "shoal-browser-"
PROFILE = "{profile}"
"""Stands for the profile's folder in the command."""

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    _, channel_fd, parent, count, user, _, *command = sys.argv
    is_closed, is_own_shm = _enter_namespaces() if int(count) else (False, False)
    listeners = [_listener() for _ in range(int(count))] if is_closed else []
    profile = f"{SHM}/profile" if is_own_shm else _locked_folder(int(user))
    _drop_to(int(user))
    # After the change of user, which clears it. The browser ends with the thread that started it.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit("the process that started the browser has ended")
    with socket.socket(fileno=int(channel_fd)) as channel:
        told = {"no_network": is_closed, "folder": "" if is_own_shm else profile}
        socket.send_fds(channel, [json.dumps(told).encode()], [listener.fileno() for listener in listeners])
    for listener in listeners:
        listener.close()
    environment = {**os.environ, "HOME": profile, "TMPDIR": SHM if is_own_shm else profile}
    try:
        os.execve(command[0], [part.replace(PROFILE, profile) for part in command], environment)
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error.strerror}")


def _enter_namespaces() -> tuple[bool, bool]:
    """Whether the network is closed, and whether /dev/shm is the browser's own."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare((_NEWUSER if user else 0) | _NEWNET | _NEWNS):
        return False, False
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    _loopback_up()
    # Private first: otherwise the mount would be seen outside.
    is_private = not _libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
    is_own = is_private and not _libc.mount(
        b"tmpfs", SHM.encode(), b"tmpfs", _MS_NOSUID | _MS_NODEV, ctypes.c_char_p(_SHM_OPTIONS)
    )
    return True, is_own


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 - pathlib takes longer to import than all the rest
        file.write(text)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(control, _GET_FLAGS, request)[:18])[1]
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(BACKLOG)
    return listener


def _locked_folder(user: int) -> str:
    """The lock goes over to the browser, which holds it until it ends."""
    folder = tempfile.mkdtemp(prefix=PROFILE_PREFIX)
    if os.geteuid() == 0:
        os.chown(folder, user, user)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)
    return folder


def _drop_to(user: int) -> None:
    """Chromium has no sandbox as root."""
    if os.geteuid() == 0:
        with contextlib.suppress(PermissionError):
            os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


if __name__ == "__main__":
    main()
