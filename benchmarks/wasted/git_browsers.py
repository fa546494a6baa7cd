"""cgit and gitweb over the history of this project's documentation."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from benchmarks.wasted.logging_server import Content, cgi_program

DIRECTORY = "docs"
PROJECT = Path(__file__).parents[2]


@contextmanager
def cgit(scratch: Path) -> Iterator[Content]:
    repository, commits, files = _history(scratch)
    config = scratch / "cgitrc"
    config.write_text(f"virtual-root=/\nrepo.url=docs\nrepo.path={repository}\nrepo.desc=Documentation\n")

    def shown(path: str) -> str | None:
        if found := re.fullmatch(r"/docs/commit/\?id=([0-9a-f]{40})", path):
            return found[1]
        found = re.fullmatch(r"/docs/tree/([^?]+)", unquote(path))
        return found[1] if found else None

    with cgi_program("/usr/lib/cgit/cgit.cgi", {"CGIT_CONFIG": str(config)}) as site:
        yield Content(site, commits | files, shown)


@contextmanager
def gitweb(scratch: Path) -> Iterator[Content]:
    repository, commits, files = _history(scratch)
    config = scratch / "gitweb.conf"
    config.write_text(f'$projectroot = "{repository.parent}";\n$projects_list = $projectroot;\n')

    def shown(path: str) -> str | None:
        fields = dict(part.partition("=")[::2] for part in re.split("[;&]", unquote(path.partition("?")[2])))
        if fields.get("a") in ("commit", "commitdiff"):
            return fields.get("h")
        return fields.get("f") if fields.get("a") == "blob" else None

    with cgi_program("/usr/share/gitweb/gitweb.cgi", {"GITWEB_CONFIG": str(config)}) as site:
        yield Content(site, commits | files, shown)


def _history(scratch: Path) -> tuple[Path, set[str], set[str]]:
    """A repository with all commits of the documentation; their ids, and the names of its files today."""
    repository = scratch / "git" / "docs.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    history = ["git", "fast-export", "HEAD", "--", DIRECTORY]
    exported = subprocess.run(history, cwd=PROJECT, check=True, capture_output=True).stdout
    exported = re.sub(rb"(?m)^(commit|reset) (HEAD|refs/heads/.*)$", rb"\1 refs/heads/main", exported)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=exported, check=True)
    commits = _lines(repository, "rev-list", "main")
    files = _lines(repository, "ls-tree", "-r", "--name-only", "main")
    return repository, commits, files


def _lines(repository: Path, *command: str) -> set[str]:
    answer = subprocess.run(["git", *command], cwd=repository, check=True, capture_output=True, text=True)
    return set(answer.stdout.splitlines())
