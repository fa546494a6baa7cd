"""Creates the first token of a fleet: an admin token, in a file that only the operator can read."""

from __future__ import annotations

import os
import time
from pathlib import Path

from shoal.engine.outage_retry import TRY_EVERY_S
from shoal.errors import HomeError, Unavailable
from shoal.fleet.fleet import Fleet
from shoal.jobs.deployment import make_folder
from shoal.settings import Settings
from shoal.store.fleet.tokens import add_first_token
from shoal.store.store import Store
from shoal.telemetry import EventLogger

FILE = "admin-token"

log = EventLogger(__name__)


def make_first_token(store: Store, settings: Settings) -> str | None:
    """Returns None if there are tokens already. The file is written before the token becomes valid."""
    make_folder(settings.home)
    return add_first_token(store, lambda token: _write(settings.home / FILE, token))


def make_first_token_later(settings: Settings) -> None:
    """Waits for the database. Does not print the token, because output may be collected by now."""
    while True:
        try:
            with Fleet(settings).store as store:
                token = make_first_token(store, settings)
        except Unavailable:
            time.sleep(TRY_EVERY_S)
            continue
        if token is not None:
            log.info("token_made", f"created an admin token: it is stored in {settings.home / FILE}")
        return


def _write(path: Path, token: str) -> None:
    try:
        # An existing file may be readable by others, and would stay so.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token + "\n")
    except OSError as error:
        raise HomeError(f"{path} cannot be written: {error.strerror}; choose another home with --home") from error
