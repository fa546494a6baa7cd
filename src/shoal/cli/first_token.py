"""Shows the first admin token on a terminal; any other output names only its file.

Output to a file or a pipe is often kept, and more people can read it than the token's file, which is private.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.cli.session import Session


def show_first_token(session: Session, token: str, file: Path) -> None:
    if session.json:
        session.data({"type": "token", "file": str(file)})
    elif sys.stdout.isatty() and session.settings.log != "json":
        session.show(token)
        session.say(f"this is the API's admin token, shown only once; it is stored in {file}")
    else:
        session.say(f"created an admin token for the API: it is stored in {file}")
