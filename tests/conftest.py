from __future__ import annotations

import signal


def pytest_configure() -> None:
    """What a shell starts in the background ignores interrupts, and so would every command that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
