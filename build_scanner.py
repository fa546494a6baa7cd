"""Compiles src/shoal/extract/scan_page.c: `python build_scanner.py`, with the compiler of $CC if it is set.

`--into FOLDER` puts the module elsewhere, and further arguments go to the compiler. Writes where the module is,
or exits with 1 and why there is none: then libraries parse the pages.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from html.entities import html5
from pathlib import Path
from tempfile import TemporaryDirectory

EXTRACT = Path(__file__).resolve().parent / "src" / "shoal" / "extract"


def compile_scanner(into: Path, options: Sequence[str]) -> tuple[Path, str | None]:
    """The compiled module for the Python that runs this; and why there is none, if it could not be compiled."""
    module = into / f"_scan_page{sysconfig.get_config_var('EXT_SUFFIX')}"
    module.unlink(missing_ok=True)
    with TemporaryDirectory() as folder:
        (Path(folder) / "character_references.h").write_text(_character_references(), encoding="ascii")
        try:
            ran = subprocess.run(_command(folder, module, options), capture_output=True, text=True, check=False)
        except OSError as error:
            return module, str(error)
    return module, ran.stderr or f"exit status {ran.returncode}" if ran.returncode else None


def _command(folder: str, module: Path, options: Sequence[str]) -> list[str]:
    # How extensions of this Python are linked: on some systems more than "cc -shared".
    linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")
    compiler = shlex.split(os.environ.get("CC", "")) or linker[:1]
    headers = dict.fromkeys(sysconfig.get_path(name) for name in ("include", "platinclude"))
    return [
        *(*compiler, *linker[1:], "-O2", "-fPIC", "-std=c11", *options),
        *(f"-I{header}" for header in (folder, *headers)),
        *(str(EXTRACT / "scan_page.c"), "-o", str(module)),
    ]


def _character_references() -> str:
    """The table of named character references, sorted by their bytes."""
    rows = "".join(f"    {{{json.dumps(name)}, {_literal(text)}}},\n" for name, text in sorted(html5.items()))
    return (
        "static const struct {\n    const char *name;\n    const char *text;\n} CHARACTER_REFERENCES[] = {\n"
        f"{rows}}};\n\nenum {{ CHARACTER_REFERENCE_COUNT = {len(html5)} }};\n"
    )


def _literal(text: str) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, default=EXTRACT)
    asked, options = parser.parse_known_args()
    module, failure = compile_scanner(asked.into.resolve(), options)
    if failure:
        sys.exit(failure)
    print(module)


if __name__ == "__main__":
    main()
