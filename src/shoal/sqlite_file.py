"""How a SQLite file is opened that this process may only read: of a backup, or of the home of another user."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def read_only_uri(path: Path) -> str | None:
    """None for one that can be written or is not there yet."""
    if not os.access(path, os.F_OK) or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return None
    # Beside a log somebody may be writing. Without one SQLite would make it, and its index, if it were not told that
    # the file does not change.
    how = "mode=ro" if os.access(f"{path}-wal", os.F_OK) else "immutable=1"
    return f"file:{quote(str(path))}?{how}"
