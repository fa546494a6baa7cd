"""The file of -o while a crawl runs, after a kill, and beside files that are there already."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import until

SPIDER = """
from shoal import Item, Page, css, spider

class Book(Item{key}):
    title: str = css("h3 a")
    price: str = css(".price_color")

@spider("{url}", allow_private=True, rate=0)
def books(page: Page):
    print("saw", page.url)
    {found}
    yield from page.follow("a")

print("loaded")
"""
ITEMS = 'yield from page.each("article.product_pod", Book)'
PAGES = ["--allow-private", "--rate", "0"]


def write(shoal: Shell, site: Running, key: str = "", found: str = ITEMS) -> None:
    text = SPIDER.replace("{url}", site.url()).replace("{key}", key).replace("{found}", found)
    (shoal.folder / "books.py").write_text(text)


def rows_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode()
    assert not text or text.endswith("\n"), "whole lines only"
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.splitlines()]


def exported(shoal: Shell, *flags: str) -> list[dict[str, Any]]:
    return shoal("export", "last", "-o", "-", *flags).lines


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.csv"])
def test_rows_appear_while_the_crawl_runs_and_a_kill_leaves_each_once(shoal: Shell, site: Running, name: str) -> None:
    file = shoal.folder / name
    slowly = ("--allow-private", "--rate", "8", "--per-host", "1", "-o", name)
    with shoal.start("crawl", site.url(), *slowly) as process:
        try:
            until(lambda: file.exists() and len(rows_of(file)) >= 3)
            other = shoal("crawl", site.url(), *PAGES, "-o", name, "--append")
            assert (other.code, f"another crawl writes {name}" in other.err) == (2, True), other.err
            assert process.poll() is None, "the crawl goes on"
        finally:
            process.kill()
    seen = [row["url"] for row in rows_of(file)]
    with file.open("ab") as torn:
        torn.write(b'{"url": "half a')
    shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100")
    assert shoal("resume", "last", "--quiet").code == 0
    urls = [row["url"] for row in rows_of(file)]
    assert len(set(urls)) == len(urls) and set(seen) < set(urls)
    assert sorted(urls) == sorted(row["url"] for row in exported(shoal))


def test_stdout_has_each_row_as_soon_as_it_is_stored(shoal: Shell, site: Running) -> None:
    slowly = ("--allow-private", "--rate", "4", "--per-host", "1", "-o", "-")
    with shoal.start("crawl", site.url(), *slowly) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["url"] == site.url()
        assert process.poll() is None, "the crawl goes on"
        process.kill()


def test_what_a_spider_prints_goes_to_stderr(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    ran = shoal("crawl", "books.py", "-o", "-", "--max-pages", "3")
    assert ran.lines and all(set(line) == {"title", "price"} for line in ran.lines)
    assert "loaded\n" in ran.err and f"saw {site.url()}\n" in ran.err


@pytest.mark.parametrize("name", ["books.jsonl", "books.csv"])
def test_an_item_that_is_found_again_is_in_the_file_once(shoal: Shell, site: Running, name: str) -> None:
    write(shoal, site, key=', key="title"')
    ran = shoal("crawl", "books.py", "--json", "-o", name)
    titles = [row["title"] for row in rows_of(shoal.folder / name)]
    assert len(titles) == len(set(titles)) == ran.summary["items"] > 3


def test_a_key_that_a_dict_has_later_is_a_column(shoal: Shell, site: Running) -> None:
    write(shoal, site, found='yield {"url": page.url, **({"deep": 1} if page.depth else {})}')
    assert shoal("crawl", "books.py", "--quiet", "-o", "books.csv").code == 0
    rows = rows_of(shoal.folder / "books.csv")
    assert list(rows[0]) == ["url", "deep"] and {row["deep"] for row in rows} == {"", "1"}


def test_every_format_has_the_same_rows(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    limited = ("--max-pages", "1", "--quiet")
    for name in ("b.json", "b.jsonl", "b.jsonl.gz", "b.csv", "b.csv.gz", "b.csv.zst"):
        assert shoal("crawl", "books.py", *limited, "-o", name).code == 0
    folder = shoal.folder
    expected = json.loads((folder / "b.json").read_text())
    assert expected and rows_of(folder / "b.jsonl") == expected == rows_of(folder / "b.csv")
    assert gzip.decompress((folder / "b.jsonl.gz").read_bytes()) == (folder / "b.jsonl").read_bytes()
    assert gzip.decompress((folder / "b.csv.gz").read_bytes()) == (folder / "b.csv").read_bytes()
    plain = zstandard.ZstdDecompressor().decompressobj().decompress((folder / "b.csv.zst").read_bytes())
    assert plain == (folder / "b.csv").read_bytes()
    write(shoal, site, found="pass")
    assert shoal("crawl", "books.py", *limited, "-o", "none.json").code in (0, 3)
    assert json.loads((folder / "none.json").read_text()) == []


def test_a_file_that_exists_is_refused_before_the_crawl(shoal: Shell, site: Running) -> None:
    (shoal.folder / "a.jsonl").write_text('{"mine": 1}\n')
    for command in (["crawl", site.url(), *PAGES], ["export", "last"]):
        ran = shoal(*command, "-o", "a.jsonl")
        assert ran.code == 2
        if command[0] == "crawl":
            assert "error: a.jsonl exists: give --overwrite, --append or another name" in ran.err
            assert shoal("jobs", "--json").lines == []
            shoal("crawl", site.url(), *PAGES, "--max-pages", "1", "--quiet")
    assert (shoal.folder / "a.jsonl").read_text() == '{"mine": 1}\n'


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.csv.gz"])
def test_a_file_is_replaced_or_added_to_if_the_user_says_so(shoal: Shell, site: Running, name: str) -> None:
    write(shoal, site)
    file = shoal.folder / name

    def rows() -> list[str]:
        text = gzip.decompress(file.read_bytes()) if name.endswith(".gz") else file.read_bytes()
        return text.decode().splitlines()

    crawl = ("crawl", "books.py", "--max-pages", "1", "--quiet", "-o", name)
    assert shoal(*crawl).code == 0
    once = rows()
    assert shoal(*crawl, "--append").code == 0
    header = 1 if ".csv" in name else 0
    assert rows() == once + once[header:]
    assert shoal("export", "last", "-o", name, "--append", "--quiet").code == 0
    assert rows() == once + once[header:] * 2
    assert shoal(*crawl, "--overwrite").code == 0
    assert rows() == once


def test_an_appended_file_keeps_what_it_had_through_a_kill_and_resume(shoal: Shell, site: Running) -> None:
    file = shoal.folder / "a.jsonl"
    file.write_text('{"mine": 1}')  # without a line end
    slowly = ("--allow-private", "--rate", "8", "--per-host", "1", "-o", "a.jsonl", "--append")
    with shoal.start("crawl", site.url(), *slowly) as process:
        try:
            until(lambda: file.read_bytes().count(b"\n") >= 3)
        finally:
            process.kill()
    shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100")
    assert shoal("resume", "last", "--quiet").code == 0
    mine, *others = rows_of(file)
    assert mine == {"mine": 1}
    assert sorted(row["url"] for row in others) == sorted(row["url"] for row in exported(shoal))


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-o", "a.jsonl", "--append", "--overwrite"], "--overwrite and --append contradict each other"),
        (["-o", "a.json", "--append"], "a.json cannot be added to"),
        (["-o", "a.csv", "--append"], "has the columns x,y, and the data has title,price"),
        (["-o", "b.csv", "--fields", "title,,price"], "give each name once, with commas between them"),
        (["--fields", "title"], "--fields is about the file of -o: give -o FILE"),
        (["-o", "{jobs}.csv"], "unknown {jobs}; a name may have {date} and {job}"),
        (["-o", "/dev/null.csv/x.csv"], "there is no directory"),
        (["-o", "b.xlsx"], "unknown format"),
    ],
)
def test_a_bad_output_is_refused_before_the_crawl(shoal: Shell, site: Running, flags: list[str], told: str) -> None:
    write(shoal, site)
    (shoal.folder / "a.csv").write_text("x,y\n1,2\n")
    ran = shoal("crawl", "books.py", *flags)
    assert ran.code == 2 and told in ran.err
    assert shoal("jobs", "--json").lines == []
    assert (shoal.folder / "a.csv").read_text() == "x,y\n1,2\n"


def test_rules_know_all_their_fields(shoal: Shell, site: Running) -> None:
    rules = {"start": [site.url()], "items": [{"fields": {"title": {"css": "h1"}, "price": {"css": "i"}}}]}
    (shoal.folder / "books.yaml").write_text(json.dumps(rules))
    ran = shoal("crawl", "books.yaml", "--allow-private", "-o", "b.csv", "--fields", "titel")
    assert ran.code == 2
    assert "no field 'titel' (did you mean title?): choose from title, price" in ran.err


def test_a_python_spider_may_yield_fields_that_no_class_declares(shoal: Shell, site: Running) -> None:
    write(shoal, site, found=f'{ITEMS}\n    yield {{"title": page.title, "extra": "e"}}')
    flags = ("--max-pages", "2", "-o", "m.csv", "--fields", "title,extra,titel")
    ran = shoal("crawl", "books.py", *flags)
    assert ran.code == 0, ran.err
    rows = rows_of(shoal.folder / "m.csv")
    assert list(rows[0]) == ["title", "extra", "titel"]
    assert [row["extra"] for row in rows].count("e") == 2 and len(rows) > 2
    assert ran.err.count("no item has the field 'titel' (did you mean title?): its column is empty") == 1
    assert "'extra'" not in ran.err


FAILING = """
@books.on_start
def prepare(job):
    raise ValueError("no key")
"""


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_run_that_failed_before_the_first_page_leaves_no_file(shoal: Shell, site: Running, name: str) -> None:
    write(shoal, site)
    mended = (shoal.folder / "books.py").read_text()
    (shoal.folder / "books.py").write_text(mended + FAILING)
    command = ("crawl", "books.py", "--max-pages", "1", "-o", name)
    failed = shoal(*command)
    assert failed.code == 4 and "no key" in failed.err and "wrote" not in failed.err
    assert not (shoal.folder / name).exists()
    (shoal.folder / "books.py").write_text(mended)
    again = shoal(*command)
    assert again.code == 0, again.err


def test_a_failed_run_keeps_a_file_that_it_did_not_create(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    with (shoal.folder / "books.py").open("a") as spider:
        spider.write(FAILING)
    (shoal.folder / "a.jsonl").write_text('{"mine": 1}\n')
    assert shoal("crawl", "books.py", "-o", "a.jsonl", "--append").code == 4
    assert rows_of(shoal.folder / "a.jsonl") == [{"mine": 1}]


def test_fields_and_provenance_shape_the_file_and_the_export_alike(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    flags = ("--fields", "price,title,_url,_job,_spider_version", "--provenance")
    ran = shoal("crawl", "books.py", "--max-pages", "2", "--json", "-o", "a-{date}-{job}.jsonl", *flags)
    (file,) = shoal.folder.glob(f"a-20??-??-??-{ran.summary['job']}.jsonl")
    rows = rows_of(file)
    assert list(rows[0]) == ["price", "title", "_url", "_job", "_spider_version"]
    assert (rows[0]["_url"], rows[0]["_job"]) == (site.url(), ran.summary["job"])
    assert rows == exported(shoal, *flags)
    version = rows[0]["_spider_version"]
    assert len(version) == 12
    path = shoal.folder / "books.py"
    path.write_text('__version__ = "2.1"\n' + path.read_text())
    shoal("crawl", "books.py", "--max-pages", "1", "--quiet")
    assert {row["_spider_version"] for row in exported(shoal, "--provenance")} == {"2.1"}


def test_the_file_of_a_resumed_job_is_where_it_was(shoal: Shell, site: Running) -> None:
    shoal("crawl", site.url(), *PAGES, "--max-pages", "2", "--quiet", "-o", "a.jsonl")
    elsewhere = shoal.folder / "elsewhere"
    elsewhere.mkdir()
    apart = Shell(elsewhere)
    ran = apart("--home", str(shoal.home), "resume", "last", "--max-pages", "4")
    assert ran.code == 0 and f"wrote 4 records to {shoal.folder / 'a.jsonl'}" in ran.err
    assert len(rows_of(shoal.folder / "a.jsonl")) == 4 and list(elsewhere.glob("*.jsonl")) == []
