"""A fork of the fork server is as good a process as `python -m` starts, to the test that started it and to itself."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fork_server import ForkServer

TELLS = """
import atexit, json, os, sys
atexit.register(lambda: print("at its end", flush=True))
leads = os.getsid(0) == os.getpid()
print(json.dumps([__name__, sys.argv, os.getcwd(), dict(os.environ), leads]))
print("error", file=sys.stderr)
sys.exit(3)
"""
WAITS = "import signal; signal.pause()"


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer("json")
    yield server
    server.close()


def test_a_program_has_its_own_arguments_folder_environment_output_and_exit_code(
    server: ForkServer, tmp_path: Path
) -> None:
    program, output, errors = tmp_path / "tells.py", tmp_path / "out", tmp_path / "err"
    program.write_text(TELLS)
    for name in ("tells", str(program)):
        with output.open("wb") as out, errors.open("wb") as err:
            process = server.start(name, "-x", "1", cwd=tmp_path, env={"A": "b"}, output=out, errors=err)
        assert process.wait(60) == 3
        told, last = output.read_text().splitlines()
        assert json.loads(told) == ["__main__", [str(program), "-x", "1"], str(tmp_path), {"A": "b"}, True]
        assert (last, errors.read_text()) == ("at its end", "error\n")


def test_a_program_can_be_waited_for_and_killed_while_others_run(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    with (tmp_path / "out").open("wb") as out:
        first, second = (server.start("waits", cwd=tmp_path, env={}, output=out) for _ in range(2))
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.01)
    first.kill()
    assert first.wait(60) == -signal.SIGKILL and second.poll() is None
    second.terminate()
    assert second.wait(60) == -signal.SIGTERM
    second.kill()
