from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.model import ScopeKind
from shoal.urls import Params, Resolver, Scope, Traps
from shoal.urls.file_types import FILE_TYPES, FileTypes, parse_types

PAGE = "http://h/"


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("a", None),
        ("a.html", None),
        ("a.PDF", None),
        ("a.zip", "archive"),
        ("a.tar.GZ?x=1", "archive"),
        ("clip.mp4", "video"),
        ("a.woff2", "font"),
        ("setup.exe", "program"),
        ("logo.png", "image"),
        ("get?file=a.zip", None),
        ("v1.5", None),
        ("example.com/", None),
        ("wiki/File:Logo.png", None),
        ("index.php/File:Logo.png", None),
        ("repo/tree/logo.png", None),
        ("repo/snapshot/repo-1.0.tar.gz", "archive"),
    ],
)
def test_the_ending_of_the_path_shows_the_type(path: str, refused: str | None) -> None:
    assert FileTypes().refused_by_url(PAGE + path) == refused


@pytest.mark.parametrize(
    ("content_type", "path", "refused"),
    [
        ("text/html; charset=utf-8", "a", None),
        ("", "a.zip", None),
        ("application/zip", "a", "archive"),
        ("Application/X-Gzip", "a", "archive"),
        ("application/octet-stream", "a", "program"),
        ("application/octet-stream", "a.pdf", None),
        ("application/octet-stream", "a.tgz", "archive"),
        ("image/svg+xml", "a", "image"),
        ("application/ld+json", "a", None),
        ("application/vnd.oasis.opendocument.text", "a", None),
        ("application/x-unheard-of", "a", None),
    ],
)
def test_the_content_type_decides_after_the_request(content_type: str, path: str, refused: str | None) -> None:
    assert FileTypes().refused_by_answer(content_type, PAGE + path) == refused


def test_a_job_that_chooses_types_fetches_no_others() -> None:
    chosen = FileTypes(parse_types(["html,pdf"]))
    assert chosen.refused_by_url("http://h/a.json") == "data" and chosen.refused_by_url("http://h/a.pdf") is None
    assert chosen.refused_by_answer("application/x-unheard-of", PAGE) == "unknown"
    assert chosen.refused_by_answer("", PAGE) is None
    everything = FileTypes(parse_types(["all"]))
    assert everything.takes_all and everything.refused_by_url("http://h/a.zip") is None


def test_a_job_with_a_spider_fetches_what_the_spider_asks_for() -> None:
    assert FileTypes(has_spider=True).refused_by_url("http://h/a.zip") is None
    assert FileTypes(("html",), has_spider=True).refused_by_url("http://h/a.zip") == "archive"


def test_an_unknown_type_is_refused_with_the_one_it_belongs_to() -> None:
    assert parse_types(["pdf, html", "pdf"]) == ("html", "pdf") and parse_types(["all"]) == FILE_TYPES
    with pytest.raises(UsageError, match="it belongs to archive"):
        parse_types(["zip"])
    with pytest.raises(UsageError, match="choose from html, pdf"):
        parse_types(["pages"])


def test_links_to_other_types_are_skipped_with_samples_but_what_was_given_is_followed() -> None:
    seed = "http://h/given.zip"
    resolver = Resolver(
        Scope(ScopeKind.HOST, [PAGE, seed], (), ()), Traps((), 1_800_000_000), Params(), "host", types=FileTypes()
    )
    links = resolver.resolve(PAGE, ["/a.zip", "/b.zip?x=1", "/given.zip", "/c.html", "/d.mp3", "http://h/given.zip"])
    assert [target.url for target in links.targets] == [seed, "http://h/c.html"]
    assert links.skipped == {"file_type:archive": 2, "file_type:audio": 1}
    assert links.trapped["file_type:archive"] == ["http://h/a.zip", "http://h/b.zip?x=1"]
