from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

ASK_BASH = """
source /dev/stdin
COMP_WORDS=(shoal "$@"); COMP_CWORD=$#
_shoal_completion shoal
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_for_shoal_and_says_how_to_install_it(shoal: Shell, shell: str) -> None:
    ran = shoal("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_SHOAL_COMPLETE={shell}_complete" in ran.out
    assert ran.out.splitlines()[-1].startswith(f"# to install: shoal completion {shell} > ~/")


def test_bash_completes_commands_and_options_with_it(shoal: Shell) -> None:
    script = shoal("completion", "bash").out
    assert _completed(script, "ho") == ["hosts"]
    assert _completed(script, "hosts", "--unp") == ["--unpause"]


def test_another_shell_is_a_usage_error(shoal: Shell) -> None:
    assert shoal("completion", "csh").code == 2


def _completed(script: str, *words: str) -> list[str]:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    asked = subprocess.run(
        ["bash", "-c", ASK_BASH, "bash", *words], input=script, env={"PATH": path}, capture_output=True, text=True
    )
    return asked.stdout.split()
