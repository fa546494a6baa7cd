"""`shoal export --mirror`: a site as files, with links that work without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.cli.conftest import Shell
from tests.cli.crawled import Crawled, crawled


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("mirror")) as job:
        yield job


def host_of(job: Crawled) -> str:
    return f"{job.site.addresses[0]}+{job.site.port}"


def links_of(file: Path) -> list[str]:
    nodes = LexborHTMLParser(file.read_bytes()).css("a[href]")
    return [node.attributes["href"] or "" for node in nodes]


def test_links_between_pages_are_relative_and_lead_to_files_and_others_are_absolute(job: Crawled) -> None:
    ran = job.shoal("export", "last", "--mirror", "site")
    root = job.shoal.folder / "site"
    first = root / host_of(job) / "index.html"
    assert ran.code == 0 and f"open site/{host_of(job)}/index.html" in ran.err
    files = [file for file in root.rglob("*") if file.is_file()]
    assert len(files) > 10 and first in files
    relative = absolute = 0
    for file in files:
        for link in links_of(file) if file.suffix == ".html" else ():
            plain = urldefrag(link).url
            if urlsplit(plain).scheme:
                absolute += 1
            elif plain:
                assert (file.parent / unquote(plain)).resolve().is_file(), (file, link)
                relative += 1
    assert relative > 100 and absolute > 0
    assert not list(job.shoal.folder.glob("*.part"))


def test_a_file_that_is_no_page_is_copied_as_it_is(job: Crawled) -> None:
    job.shoal("export", "last", "--mirror", "copies")
    folder = job.shoal.folder / "copies" / host_of(job)
    body = job.shoal("pages", "last", "--body", _fingerprint(job, "/feed.xml")).out
    assert (folder / "feed.xml").read_text() == body


def _fingerprint(job: Crawled, path: str) -> str:
    pages = job.shoal("pages", "last", "--json").lines
    return next(str(page["fingerprint"]) for page in pages if page["url"] == job.site.url(path))


def test_what_a_killed_command_left_is_in_no_later_mirror(job: Crawled) -> None:
    (job.shoal.folder / "next.part").mkdir()
    (job.shoal.folder / "next.part" / "old.html").write_text("of another job")
    assert job.shoal("export", "last", "--mirror", "next").code == 0
    assert [file.name for file in (job.shoal.folder / "next").iterdir()] == [host_of(job)]


def test_a_folder_with_files_is_kept_unless_the_user_says_so(job: Crawled) -> None:
    folder = job.shoal.folder / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    ran = job.shoal("export", "last", "--mirror", "mine")
    assert ran.code == 2 and "mine exists and is not an empty folder: give --overwrite or another name" in ran.err
    assert job.shoal("export", "last", "--mirror", "mine", "--overwrite").code == 0
    assert (folder / "notes.txt").read_text() == "mine" and (folder / host_of(job) / "index.html").is_file()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--mirror", "x", "-o", "y.csv"], "--mirror DIR goes with --assets and --overwrite only"),
        (["--mirror", "x", "--pages"], "--mirror DIR goes with --assets and --overwrite only"),
        (["--mirror", "x", "--assets"], "was crawled without --assets, so its archive lacks the images"),
        (["--assets", "-o", "y.csv"], "--assets needs --mirror DIR"),
        ([], "give -o FILE, --mirror DIR or --files DIR"),
        (["--mirror", "no/such/x"], ".part: No such file or directory"),
    ],
)
def test_a_bad_request_for_a_mirror_is_refused(job: Crawled, flags: list[str], told: str) -> None:
    ran = job.shoal("export", "last", *flags)
    assert ran.code == 2 and told in ran.err


def test_a_job_without_an_archive_has_no_mirror(shoal: Shell, job: Crawled) -> None:
    shoal("crawl", job.site.url(), "--allow-private", "--max-pages", "1", "--no-archive", "--quiet")
    ran = shoal("export", "last", "--mirror", "x")
    assert ran.code == 2 and "has no page in the archive" in ran.err and not (shoal.folder / "x").exists()


def test_pages_with_an_error_status_are_left_out(job: Crawled) -> None:
    job.shoal("export", "last", "--mirror", "good")
    pages = job.shoal("pages", "last", "--json").lines
    good = [page for page in pages if page["status"] == 200]
    assert len(good) < len(pages), "the site has pages that answer 404"
    files = [file for file in (job.shoal.folder / "good").rglob("*") if file.is_file()]
    assert len(files) == len(good)
