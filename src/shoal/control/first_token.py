"""The first token of a fleet: an admin's, in a file that only the operator can read."""

from __future__ import annotations

import os
import time
from pathlib import Path

from shoal.engine.patience import TRY_EVERY_S
from shoal.errors import HomeError, Unavailable
from shoal.fleet.place import Fleet
from shoal.jobs.place import make_folder
from shoal.settings import Settings
from shoal.store.store import Store
from shoal.store.tokens import add_first_token
from shoal.telemetry import Events

FILE = "admin-token"

log = Events(__name__)


def make_first_token(store: Store, settings: Settings) -> str | None:
    """None if there are tokens already. It is in the file before anybody can be asked for it."""
    make_folder(settings.home)
    return add_first_token(store, lambda token: _write(settings.home / FILE, token))


def make_first_token_later(settings: Settings) -> None:
    """Waits for the database to be there. It is not printed then: by now all that is may be collected."""
    while True:
        try:
            with Fleet(settings).store as store:
                token = make_first_token(store, settings)
        except Unavailable:
            time.sleep(TRY_EVERY_S)
            continue
        if token is not None:
            log.info("token_made", f"an admin token was made: {settings.home / FILE} has it")
        return


def _write(path: Path, token: str) -> None:
    try:
        # A file that is there may be readable by others, and stays so if it is only written to.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token + "\n")
    except OSError as error:
        raise HomeError(f"{path} cannot be written: {error.strerror}; choose another home with --home") from error
