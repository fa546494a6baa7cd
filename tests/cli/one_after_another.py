"""Several commands in one other process: each start would take longer than what the command does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.conftest import TIMEOUT_S
from tests.cli.in_process import Ran

EACH = """
import contextlib, io, json, sys
import shoal.cli

for words in sys.argv[1:]:
    sys.argv = ["shoal", *words.split()]
    with (
        io.TextIOWrapper(io.BytesIO()) as out,
        io.StringIO() as err,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            shoal.cli.main()
        except SystemExit as ended:
            code = ended.code
        out.flush()
        said = code, out.buffer.getvalue().decode(), err.getvalue()
    print(json.dumps(said))
"""


def one_after_another(
    folder: Path, environment: Mapping[str, str], commands: Sequence[str], before: Sequence[str] = ()
) -> list[Ran]:
    """What each command did; `before` are the words of a program that starts the process."""
    argv = [*before, sys.executable, "-c", EACH, *commands]
    ran = subprocess.run(
        argv,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
    )
    assert ran.returncode == 0, ran.stderr
    return [Ran(*json.loads(line)) for line in ran.stdout.splitlines()]
