"""How a command tells of the first admin token: a terminal shows it, everything else gets only the name of its file.

Output that goes to a file or a pipe is kept, and more people read it than the file, which only its owner can read.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.cli.session import Session


def tell_first_token(session: Session, token: str, file: Path) -> None:
    if session.json:
        session.data({"type": "token", "file": str(file)})
    elif sys.stdout.isatty() and session.settings.log != "json":
        session.show(token)
        session.say(f"the admin token of the API, shown this once; {file} has it too")
    else:
        session.say(f"an admin token of the API was made: {file} has it")
