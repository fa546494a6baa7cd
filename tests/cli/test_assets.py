"""`--assets`: what pages need to be looked at offline, also from other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import Shell

INDEX = """<!doctype html><title>Front</title><link rel=stylesheet href="css/a.css"><script src="{cdn}x.js"></script>
<img src="i.png"><img src="secret.png"><a href="b.html">b</a><a href="{cdn}page.html">elsewhere</a>"""
SPIDER = """
from shoal import Page, spider

@spider("{url}", allow_private=True, rate=0)
def pages(page: Page):
    yield {"url": page.url}
    yield from page.follow("a")
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A site, and another host that has some of its files."""
    for name in ("site/css", "cdn"):
        (tmp_path / name).mkdir(parents=True)
    with serving(tmp_path / "site") as site, serving(tmp_path / "cdn") as cdn:
        files = {
            "site/index.html": INDEX.replace("{cdn}", cdn),
            "site/b.html": '<img src="i.png">',
            "site/css/a.css": '@import "b.css"; a { background: url(../bg.png) }',
            "site/css/b.css": f"b {{ background: url({cdn}far.png) }}",
            "cdn/x.js": 'import "./y.js"',
            **dict.fromkeys(("site/i.png", "site/bg.png", "site/secret.png", "cdn/far.png", "cdn/y.js"), "x"),
            "cdn/page.html": "another site",
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        yield site, cdn


def test_a_mirror_has_what_its_pages_need_and_no_page_of_another_host(shoal: Shell, sites: tuple[str, str]) -> None:
    site, cdn = sites
    ran = shoal("crawl", site, "--allow-private", "--rate", "0", "--json", "--assets", "--exclude", "secret")
    assert (ran.code, ran.summary["pages"], ran.summary["assets"]) == (0, 2, 7)
    assert shoal("export", "last", "--mirror", "mirror", "--assets").code == 0
    root = shoal.folder / "mirror"
    ours, theirs = (url.removeprefix("http://").rstrip("/").replace(":", "+") for url in sites)
    assert {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()} == {
        *(f"{ours}/{name}" for name in ("index.html", "b.html", "i.png", "bg.png", "css/a.css", "css/b.css")),
        *(f"{theirs}/{name}" for name in ("x.js", "y.js", "far.png")),
    }
    front = (root / ours / "index.html").read_text()
    assert f'<script src="../{theirs}/x.js">' in front and '<img src="i.png">' in front
    assert f'<img src="{site}secret.png">' in front and f'<a href="{cdn}page.html">' in front
    assert f'url("../../{theirs}/far.png")' in (root / ours / "css" / "b.css").read_text()


def test_a_refresh_has_the_assets_of_unchanged_pages_too(shoal: Shell, sites: tuple[str, str]) -> None:
    command = ("crawl", sites[0], "--allow-private", "--rate", "0", "--json", "--assets", "--refresh")
    first, second = (shoal(*command).summary for _ in range(2))
    assert second["pages"] == first["pages"] == 2
    assert second["assets"] == first["assets"] == 8
    assert [page["changed"] for page in shoal("pages", "last", "--json").lines] == [False] * 10


def test_assets_count_apart_from_pages_and_have_a_limit_of_their_own(shoal: Shell, sites: tuple[str, str]) -> None:
    command = ("crawl", sites[0], "--allow-private", "--rate", "0", "--json", "--assets", "--name", "few")
    page = shoal(*command, "--max-pages", "1").summary
    # A page at the limit still gets all of its assets.
    assert (page["state"], page["pages"], page["assets"], page["by_status"]) == ("limited", 1, 8, {"200": 1})
    some = shoal(*command, "--max-assets", "3").summary
    assert (some["state"], some["pages"], some["assets"]) == ("limited", 2, 3)
    told = shoal("job", "few").out
    assert "its limit of assets is reached" in told and "\n  assets      3 parts of pages" in told
    rest = shoal("resume", "few", "--max-assets", "8", "--json").summary
    assert (rest["state"], rest["pages"], rest["assets"]) == ("done", 2, 8)
    assert sum(bool(page["is_asset"]) for page in shoal("pages", "few", "--json").lines) == 8


def test_a_spider_sees_no_asset_neither_in_the_crawl_nor_when_extracting_again(
    shoal: Shell, sites: tuple[str, str]
) -> None:
    site, _ = sites
    (shoal.folder / "pages.py").write_text(SPIDER.replace("{url}", site))
    ran = shoal("crawl", "pages.py", "--json", "--assets", "-o", "items.jsonl")
    assert (ran.code, ran.summary["items"], ran.summary["pages"]) == (0, 2, 2)
    again = shoal("extract", "last", "--spider", "pages.py", "--json", "--processes", "1", "-o", "again.jsonl")
    assert again.code == 0, again.err
    crawled, extracted = ((shoal.folder / name).read_text() for name in ("items.jsonl", "again.jsonl"))
    assert sorted(crawled.splitlines()) == sorted(extracted.splitlines())


def test_assets_need_the_archive(shoal: Shell) -> None:
    ran = shoal("crawl", "https://a.example/", "--assets", "--no-archive")
    assert ran.code == 2 and "--assets needs the archive for its files" in ran.err


def test_the_name_that_wget_has_for_it_leads_to_ours(shoal: Shell) -> None:
    ran = shoal("crawl", "https://a.example/", "--page-requisites")
    assert ran.code == 2 and "--page-requisites is called --assets here" in ran.err
