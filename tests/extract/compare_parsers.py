"""Compares the scanner with lexbor on all pages in folders: `python -m tests.extract.compare_parsers FOLDER...`"""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.extract.page import MAX_HTML_BYTES, MAX_TEXT
from shoal.extract.scan_parser import ScanParser
from shoal.extract.tree_parser import TreeParser
from shoal.fetch.charset import to_utf8
from tests.extract.parser_facts import Facts, facts

LONGEST = 3_000_000
"""lexbor takes minutes for some longer ones."""


def main(folders: list[str]) -> int:
    pages = differing = 0
    for path, html in _pages(folders):
        pages += 1
        scanned, built = _cut(facts(ScanParser(html))), _cut(facts(TreeParser(html)))
        if unlike := [name for name in Facts._fields if getattr(scanned, name) != getattr(built, name)]:
            differing += 1
            print(f"{path}: {', '.join(unlike)}")
    print(f"{pages - differing:,} of {pages:,} pages agree")
    return bool(differing)


def _pages(folders: list[str]) -> Iterator[tuple[Path, bytes]]:
    for folder in folders:
        # Unlike Path's, it follows symbolic links, which Debian has many of.
        for name in sorted(glob.glob(f"{folder}/**/*.html", recursive=True)):  # noqa: PTH207
            path = Path(name)
            if path.is_file() and path.stat().st_size < LONGEST:
                yield path, to_utf8(path.read_bytes(), "text/html")[:MAX_HTML_BYTES]


def _cut(found: Facts) -> Facts:
    return found._replace(text=found.text[:MAX_TEXT])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
