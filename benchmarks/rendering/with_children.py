"""Runs a command, and waits for everything that it started: `python -P with_children.py COMMAND...`.

A browser has processes of its own, which its starter does not wait for. Here they become children of this process when
their parent ends, so that their processor time counts as its own. Ends with the code of the command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Whoever measures ends this process, and must end the command with it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = subprocess.Popen(argv).wait()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
