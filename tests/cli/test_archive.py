from __future__ import annotations

import asyncio
import gzip
import hashlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from shoal.embedded.home import Home
from shoal.jobs.archived_bodies import ArchivedBody, archived_body
from shoal.practice import Answer, Running, Shop, Visit, running
from shoal.store.results.listings import list_pages
from tests.cli.conftest import Here, Ran, Shell, assert_balanced
from tests.cli.crawled import Crawled, crawled
from tests.cli.crawling import crawling, until
from tests.engine.conftest import html, serving
from tests.store.warcs import Seen, of_type, read, read_folder


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("archive")) as job:
        yield job


async def crawl(shoal: Shell, *args: str) -> Ran:
    """In a process of its own, because a site of this one's event loop is crawled."""
    ran = await asyncio.to_thread(Shell(shoal.folder), "crawl", *args, "--allow-private", "--rate", "0", "--json")
    await asyncio.to_thread(assert_balanced, shoal, ran)
    return ran


def archived(shoal: Shell, job: str) -> list[Seen]:
    return read_folder(shoal.home / "archive" / job)


def kept(shoal: Shell, job: str) -> dict[str, ArchivedBody]:
    """Path -> page and body, of all that are archived."""
    with Home(shoal.home) as home:
        rows = [row for row in list_pages(home.store, job, {}) if row["archive"]]
        return {"/" + row["url"].split("/", 3)[3]: archived_body(home, job, row["fingerprint"]) for row in rows}


def sha256(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def test_every_final_answer_is_archived_with_its_request(job: Crawled) -> None:
    records = archived(job.shoal, job.summary["job"])
    answers = of_type(records, "response", "revisit")
    assert len(answers) == job.summary["pages"] + job.summary["redirects"] + job.summary["dead"]
    assert len(of_type(records, "request")) == len(answers)
    assert {"200", "301", "404", "500"} <= {str(record.status) for record in answers}
    assert not any("robots.txt" in str(record.url) for record in records)


def test_each_page_leads_to_its_body(job: Crawled) -> None:
    bodies = kept(job.shoal, job.summary["job"]).values()
    assert len(bodies) == job.summary["pages"]
    assert all(one.page.digest == sha256(one.body) for one in bodies)


def test_pages_writes_one_body_to_stdout(job: Crawled) -> None:
    front = job.shoal("pages", "last", "--json", "--limit", "1").lines[0]
    ran = job.shoal("pages", "last", "--body", front["fingerprint"])
    assert (ran.code, sha256(ran.out.encode()), ran.err) == (0, front["digest"], "")


def test_the_archive_can_be_exported_as_one_file(job: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "all.warc.gz"
    ran = job.shoal("export", "last", "--warc", "-o", str(file), "--json")
    (told,) = ran.lines
    assert (ran.code, told["bytes"]) == (0, file.stat().st_size)
    assert read(file.read_bytes()) == archived(job.shoal, job.summary["job"])
    assert [left.name for left in tmp_path.iterdir()] == [file.name]
    checked = subprocess.run([sys.executable, "-m", "warcio.cli", "check", str(file)], capture_output=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, b"")


def test_a_warc_extension_exports_the_archive(job: Crawled, tmp_path: Path) -> None:
    named, told = tmp_path / "named.warc.gz", tmp_path / "told.warc.gz"
    assert job.shoal("export", "last", "-o", str(named)).code == 0
    assert job.shoal("export", "last", "--warc", "-o", str(told)).code == 0
    assert named.read_bytes() == told.read_bytes()
    assert job.shoal("export", "last", "--pages", "-o", str(tmp_path / "pages.warc.gz")).code == 2


def test_an_archive_replaces_no_file_unless_the_user_says_so(job: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "mine.warc.gz"
    file.write_text("mine")
    refused = job.shoal("export", "last", "-o", str(file))
    assert refused.code == 2 and "exists: give --overwrite or another name" in refused.err
    assert file.read_text() == "mine"
    assert job.shoal("export", "last", "-o", str(file), "--overwrite").code == 0
    assert file.read_bytes() != b"mine"
    about_rows = job.shoal("export", "last", "-o", str(file), "--overwrite", "--fields", "url")
    assert about_rows.code == 2 and "an archive goes with --overwrite only" in about_rows.err


def test_a_missing_body_is_a_usage_error_with_advice(job: Crawled) -> None:
    unknown = job.shoal("pages", "last", "--body", "00ff00ff00ff00ff")
    assert unknown.code == 2 and "--json` shows the fingerprints" in unknown.err
    for malformed in ("front page", "00ff", "ff" * 32):
        ran = job.shoal("pages", "last", "--body", malformed)
        assert ran.code == 2 and f"'{malformed}' is not a fingerprint: give the 16 hex digits" in ran.err
    named_otherwise = job.shoal("export", "last", "--warc", "-o", "all.jsonl")
    assert named_otherwise.code == 2 and ".warc.gz" in named_otherwise.err


def test_the_archive_size_is_shown(job: Crawled) -> None:
    (figures,) = job.shoal("job", "last", "--json").lines
    files = (job.shoal.home / "archive" / job.summary["job"]).glob("*.warc.gz")
    assert figures["archive_bytes"] == job.summary["archive_bytes"] == sum(file.stat().st_size for file in files)
    assert "  archive     " in job.shoal("job", "last").out


def test_without_an_archive_nothing_is_kept_and_everything_says_so(shoal: Shell, site: Running) -> None:
    ran = shoal.crawl(site.url(), "--no-archive", "--max-pages", "2")
    assert ran.code == 0 and not (shoal.home / "archive").exists()
    page, _ = shoal("pages", "last", "--json").lines
    assert page["archive"] is None
    assert "--no-archive" in shoal("job", "last").out
    for asked in (("pages", "last", "--body", page["fingerprint"]), ("export", "last", "--warc", "-o", "a.warc.gz")):
        refused = shoal(*asked)
        assert refused.code == 2 and "--no-archive" in refused.err


def test_beyond_the_archive_limit_the_crawl_continues_and_counts_unarchived_responses(
    shoal: Shell, site: Running
) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--rate", "0", "--max-archive-bytes", "20k")
    (figures,) = shoal("job", "last", "--json").lines
    assert ran.code == 0 and 10_000 < figures["archive_bytes"] <= 20_000
    rows = shoal("pages", "last", "--json").lines
    without = sum(row["archive"] is None for row in rows)
    assert 0 < without < len(rows) == figures["pages"]
    assert figures["unarchived"] >= without
    said = f"full at 20.0 kB: {figures['unarchived']} responses not archived"
    assert ran.err.count(said) == 1 and said in shoal("job", "last").out


async def test_secrets_are_sent_but_not_archived(shoal: Shell) -> None:
    asked: list[Visit] = []

    def note(visit: Visit) -> Answer:
        asked.append(visit)
        return Answer(200, b"<a href='/next'>next</a>", headers={"Set-Cookie": "session=hers; Path=/"})

    async with serving({"/": note, "/next": note}) as site:
        url = site.url().replace("http://", "http://ann:sesame@")
        secrets = ("--header", "X-Api-Key: sesame", "--header", "Accept-Language: de", "--cookie", "pass=sesame")
        ran = await crawl(shoal, url, *secrets)
    assert ran.summary["pages"] == 2
    assert asked[-1].headers["x-api-key"] == "sesame" and "sesame" in asked[-1].headers["cookie"]
    assert asked[-1].headers["authorization"].startswith("Basic ")
    (file,) = (shoal.home / "archive").glob("*/*.warc.gz")
    content = gzip.decompress(file.read_bytes())
    assert b"sesame" not in content and b"Basic " not in content and b"\nCookie" not in content
    requests = of_type(read(file.read_bytes()), "request")
    assert requests[0].http["Accept-Language"] == "de" and requests[0].http["User-Agent"].startswith("shoal/")
    assert requests[0].http["Host"] == site.url().split("/")[2]


async def test_bodies_are_returned_decompressed_and_archived_as_received(shoal: Shell) -> None:
    page = b"<a href='/chunks'>" + b"words " * 500
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    pages = {
        "/": Answer(200, gzip.compress(page), headers={"Content-Encoding": "gzip"}),
        "/chunks": Answer(200, b"", raw=[head, b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"]),
    }
    async with serving(pages) as site:
        ran = await crawl(shoal, site.url())
    assert {path: one.body for path, one in kept(shoal, ran.summary["job"]).items()} == {"/": page, "/chunks": b"abcde"}
    packed, chunked = of_type(archived(shoal, ran.summary["job"]), "response")
    assert packed.http["Content-Encoding"] == "gzip" and gzip.decompress(packed.body) == page
    assert chunked.body == b"abcde" and chunked.http["Content-Length"] == "5"


def tagged(visit: Visit) -> Answer:
    same = visit.headers.get("if-none-match") == '"one"'
    return Answer(304 if same else 200, b"" if same else b"<title>t</title>words", headers={"ETag": '"one"'})


@pytest.mark.parametrize(("more", "status"), [((), 200), (("--max-archive-bytes", "5k"), 304)])
async def test_a_page_without_an_archived_body_is_fetched_without_conditions(
    shoal: Shell, more: tuple[str, ...], status: int
) -> None:
    async with serving({"/": tagged}) as site:
        await crawl(shoal, site.url(), "--name", "n", "--no-archive")
        await crawl(shoal, site.url(), "--name", "n", "--refresh", *more)
    (page,) = (await asyncio.to_thread(shoal, "pages", "last", "--json")).lines
    assert (page["status"], page["changed"], bool(page["archive"])) == (status, False, status == 200)


async def test_an_unchanged_page_refers_to_its_body_in_the_earlier_job(shoal: Shell) -> None:
    async with serving({"/": tagged}) as site:
        jobs = [
            (await crawl(shoal, site.url(), "--name", "n", *more)).summary["job"]
            for more in ((), ("--refresh",), ("--refresh", "--no-archive"))
        ]
    pages = [kept(shoal, job)["/"] for job in jobs]
    assert [one.page.status for one in pages] == [200, 304, 304]
    assert {one.body for one in pages} == {b"<title>t</title>words"}
    assert len({one.page.archive for one in pages}) == 1
    (revisit,) = of_type(archived(shoal, jobs[1]), "revisit")
    (response,) = of_type(archived(shoal, jobs[0]), "response")
    assert revisit.fields["WARC-Refers-To"] == response.id


async def test_the_same_body_under_two_urls_is_archived_once(shoal: Shell) -> None:
    pages = {"/": html("/a", "/b"), "/a": html(body="same"), "/b": html(body="same")}
    async with serving(pages) as site:
        ran = await crawl(shoal, site.url())
    at = {path: one.page.archive for path, one in kept(shoal, ran.summary["job"]).items()}
    assert at["/a"] == at["/b"] != at["/"]
    assert len(of_type(archived(shoal, ran.summary["job"]), "revisit")) == 1


def test_after_kills_every_page_row_has_its_body_in_the_archive(tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    command = ["crawl", "", "--allow-private", "--rate", "0", "--quiet"]
    with running(Shop(hosts=1, products=150, troubled=False), latency_ms=3) as site:
        command[1] = site.url()
        for kill in range(4):
            with shoal.start(*command) as process:
                until(partial(_has_archived, shoal, 15_000 * (kill + 1)))
                process.send_signal(signal.SIGKILL)
            command = ["resume", "last", "--quiet"]
            job = shoal("job", "last", "--json").lines[0]["id"]
            assert all(one.page.digest == sha256(one.body) for one in kept(shoal, job).values())
        ran = shoal("resume", "last", "--json")
    assert ran.code == 0
    folder = shoal.home / "archive" / job
    captures = of_type(archived(shoal, job), "response", "revisit")
    bodies = kept(shoal, job).values()
    assert len(bodies) == ran.summary["pages"]
    assert all(one.page.digest == sha256(one.body) for one in bodies)
    assert {one.page.url for one in bodies} <= {one.url for one in captures}
    assert not list(shoal.home.glob("spool/*"))
    assert sum(len(file.read_text().splitlines()) for file in folder.glob("*.cdxj")) == len(captures)


def _has_archived(shoal: Shell, enough_bytes: int) -> bool:
    segments = [*shoal.home.glob("archive/*/*.warc.gz"), *shoal.home.glob("spool/*/*/*.warc.gz.open")]
    return sum(file.stat().st_size for file in segments) > enough_bytes


def test_what_a_running_crawl_has_archived_can_be_read_and_exported(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as run:
        front = kept(shoal, run.job)["/"]
        assert front.page.digest == sha256(front.body)
        assert shoal("export", run.job, "--warc", "-o", "now.warc.gz").code == 0
    assert site.url() in {record.url for record in read((shoal.folder / "now.warc.gz").read_bytes())}


def test_the_archive_setting_chooses_the_folder(shoal: Shell, site: Running, tmp_path: Path) -> None:
    elsewhere = {"SHOAL_ARCHIVE_URL": f"file://{tmp_path}/kept%20here"}
    ran = shoal("crawl", site.url(), "--allow-private", "--rate", "0", "--max-pages", "1", "--json", env=elsewhere)
    assert ran.code == 0 and not (shoal.home / "archive").exists()
    assert read_folder(tmp_path / "kept here" / ran.summary["job"])
    assert shoal("export", "last", "--warc", "-o", "a.warc.gz", env=elsewhere).code == 0
    assert shoal("export", "last", "--warc", "-o", "b.warc.gz").code == 2
    refused = shoal("jobs", env={"SHOAL_ARCHIVE_URL": "ftp://bucket"})
    assert refused.code == 2 and "ftp://bucket" in refused.err


def test_an_unwritable_archive_stops_the_crawl_with_its_path(shoal: Shell, site: Running) -> None:
    in_the_way = shoal.folder / "file"
    in_the_way.touch()
    ran = shoal(
        "crawl", site.url(), "--allow-private", "--rate", "0", env={"SHOAL_ARCHIVE_URL": f"file://{in_the_way}"}
    )
    assert ran.code == 5 and str(in_the_way) in ran.err
    resumed = shoal("resume", "last", "--json").summary
    assert len(kept(shoal, resumed["job"])) == resumed["pages"] > 0
