"""The operator's list of what no job may request."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.urls.exclusions import Exclusions, read_exclusions

LINES = """
# who asked us to stay away
example.com      # and all below it
.shop.example
127.0.0.3:8080
[::1]
https://news.example/archive/
*/logout
re:[?&]session=
"""


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://example.com/", "example.com"),
        ("http://a.b.example.com:8080/x?y", "example.com"),
        ("https://notexample.com/", None),
        ("https://example.com.evil.test/", None),
        ("https://www.shop.example/", ".shop.example"),
        ("http://127.0.0.3:8080/", "127.0.0.3:8080"),
        ("http://127.0.0.3/", None),
        ("http://[::1]:9000/", "[::1]"),
        ("https://news.example/archive/2020", "https://news.example/archive/"),
        ("http://news.example/archive/2020", None),
        ("https://news.example/", None),
        ("https://bank.example/logout", "*/logout"),
        ("https://bank.example/?session=1", "re:[?&]session="),
        ("https://bank.example/", None),
    ],
)
def test_hosts_beginnings_and_patterns(url: str, line: str | None) -> None:
    assert Exclusions(LINES.splitlines()).line_for(url) == line


def test_an_empty_list_excludes_nothing() -> None:
    assert read_exclusions(None).line_for("https://example.com/") is None


@pytest.mark.parametrize("line", ["example.com/path", "re:(", "http://", "a host"])
def test_a_line_that_says_nothing_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"example.com\n{line}\n")
    with pytest.raises(UsageError, match="exclusions"):
        read_exclusions(tmp_path / "list")


def test_a_list_that_cannot_be_read_stops_the_crawl(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the exclusions"):
        read_exclusions(tmp_path / "missing")
    (tmp_path / "latin").write_bytes(b"caf\xe9.example\n")
    with pytest.raises(UsageError, match="UTF-8"):
        read_exclusions(tmp_path / "latin")


def test_more_lines_come_beside_those_of_the_file() -> None:
    ours = Exclusions(["a.example", "*/logout"])
    both = ours.with_lines(["b.example", "https://c.example/x/"])
    urls = ["https://a.example/", "https://b.example/", "https://c.example/x/y", "https://d.example/logout"]
    assert [both.line_for(url) for url in urls] == ["a.example", "b.example", "https://c.example/x/", "*/logout"]
    assert ours.line_for("https://b.example/") is None
    assert ours.with_lines([]).line_for("https://a.example/") == "a.example"
