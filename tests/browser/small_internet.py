"""A small internet in which a command runs: a public address for a site, one that no guard allows, and nothing else.

`python -m tests.browser.small_internet COMMAND...` needs root and `ip`: it makes a network and a mount namespace, a
device with these addresses, and a resolv.conf that names the second. To browsers both are public, unlike loopback.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PUBLIC = "93.184.216.34"
REFUSED = "198.51.100.7"
"""In a network for examples, which nobody may use."""
_NEW_NETWORK, _NEW_MOUNTS = 0x40000000, 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_DEVICE = f"""
link set lo up
link add v0 type veth peer name v1
address add {PUBLIC}/24 dev v0
address add {REFUSED}/24 dev v0
link set v0 up
link set v1 up
route add default dev v0
"""
_libc = ctypes.CDLL(None, use_errno=True)


def main(argv: list[str]) -> None:
    enter()
    os.execvp(argv[0], argv)


def enter() -> None:
    """Raises PermissionError where this process may not, and FileNotFoundError without `ip`."""
    _check(_libc.unshare(_NEW_NETWORK | _NEW_MOUNTS))
    _check(_libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"nameserver {REFUSED}\noptions timeout:1 attempts:1\n")
        file.flush()
        Path(file.name).chmod(0o644)
        _check(_libc.mount(os.fsencode(file.name), b"/etc/resolv.conf", None, _BIND, None))
    subprocess.run(["ip", "-batch", "-"], input=_DEVICE, text=True, check=True)


def _check(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    main(sys.argv[1:])
