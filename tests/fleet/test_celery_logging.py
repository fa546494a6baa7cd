"""What a worker leaves out of its log of what Celery says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TIMERS = """
import logging, sys
from pathlib import Path
from celery import signals
from kombu.asynchronous import Hub
from redis.exceptions import OutOfMemoryError
from shoal.fleet import celery_logging
from shoal.settings import Settings

def fail(error):
    raise error

celery_logging.set_up(Settings(Path(sys.argv[1])))
signals.setup_logging.send(None, loglevel=logging.WARNING)
hub = Hub()
for error in (OutOfMemoryError("command not allowed"), ValueError("a bug")):
    hub.timer.call_after(0, fail, (error,))
    hub.fire_timers()
"""


def test_celerys_lines_about_a_full_redis_are_hidden_and_other_errors_are_logged(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", TIMERS, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "a bug" in ran.stderr and "command not allowed" not in ran.stderr
