"""Writes the pages of the documentation site: `python -m tests.docs_site FOLDER`. `make docs` builds it from them.

Pages of the repository's root join those of docs/. A link to a file that is no page, such as code or an example,
becomes the path of the file.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
JOINED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
}
"""Files outside of docs/ -> their pages."""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def write_pages(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    pages = {
        str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")
    }
    for source, page in (pages | JOINED).items():
        (folder / page).write_text(_with_links((ROOT / source).read_text(), source, page))


def _with_links(text: str, source: str, page: str) -> str:
    """Without those in blocks of code."""
    parts = _BLOCK.split(text)
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda link: _rewritten(link, source, page), part)
        for part in parts
    )


def _rewritten(link: re.Match[str], source: str, page: str) -> str:
    text, path, anchor = link[1], link[2], link[3] or ""
    if not path or "://" in path:
        return link[0]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    to = JOINED.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
    if to is None:
        return text if target in text else f"{text} (`{target}`)"
    return f"[{text}]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{anchor})"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
