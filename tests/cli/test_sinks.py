"""`shoal crawl --sink`: the items arrive while the crawl runs, once each, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from datetime import datetime
from pathlib import Path

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import until

SPIDER = """
from shoal import Item, Page, css, spider

class Book(Item):
    title: str = css("h3 a")
    price: str = css(".price_color")

@spider("{url}", allow_private=True, rate={rate}, per_host=1)
def books(page: Page):
    yield from page.each("article.product_pod", Book)
    yield Book(title=page.url, price="A page")
    yield from page.follow("a")
"""
SINK = ("--sink", "sqlite:///books.db?table=books")


def write(shoal: Shell, site: Running, rate: float = 0) -> None:
    (shoal.folder / "books.py").write_text(SPIDER.format(url=site.url(), rate=rate))


def rows(path: Path) -> list[tuple[str, str]]:
    if not path.exists():
        return []
    db = sqlite3.connect(path)
    try:
        return sorted(db.execute("SELECT title, price FROM books"))
    except sqlite3.OperationalError:
        return []
    finally:
        db.close()


def exported(shoal: Shell) -> list[tuple[str, str]]:
    return sorted((row["title"], row["price"]) for row in shoal("export", "last", "-o", "-").lines)


def test_a_crawl_waits_for_its_sink_and_says_so(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    ran = shoal("crawl", "books.py", *SINK)
    assert ran.code == 0, ran.err
    found = rows(shoal.folder / "books.db")
    assert found and found == exported(shoal)
    assert f"books.db?table=books: {len(found)} delivered" in ran.err
    [job] = shoal("job", "last", "--json").lines
    assert [(sink["behind"], sink["delivered"], sink["fault"]) for sink in job["sinks"]] == [(0, len(found), None)]


def test_items_arrive_while_the_crawl_runs_and_a_kill_leaves_each_once(shoal: Shell, site: Running) -> None:
    write(shoal, site, rate=8)
    file = shoal.folder / "books.db"
    with shoal.start("crawl", "books.py", *SINK) as process:
        try:
            until(lambda: rows(file))
            assert process.poll() is None, "the crawl goes on"
        finally:
            process.kill()
    shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100")
    assert shoal("resume", "last", "--quiet").code == 0
    assert rows(file) == exported(shoal)


def test_parts_have_each_item_once_after_a_kill(shoal: Shell, site: Running) -> None:
    write(shoal, site, rate=8)
    parts = shoal.folder / "parts"
    sink = f"file://{parts}?format=jsonl&rows=4"
    with shoal.start("crawl", "books.py", "--sink", sink) as process:
        try:
            until(lambda: list(parts.rglob("*.jsonl")))
            assert process.poll() is None, "the crawl goes on"
        finally:
            process.kill()
    shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100")
    assert shoal("resume", "last", "--quiet").code == 0
    found = [json.loads(line) for file in parts.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert len({row["_id"] for row in found}) == len(found)
    assert sorted((row["title"], row["price"]) for row in found) == exported(shoal)


def test_a_crawl_that_waits_for_its_sink_can_be_interrupted_and_resumed(shoal: Shell, site: Running) -> None:
    write(shoal, site, rate=8)
    file = shoal.folder / "books.db"
    with shoal.start("crawl", "books.py", *SINK) as process:
        until(lambda: rows(file))
        holder = sqlite3.connect(file, isolation_level=None, timeout=60)
        holder.execute("BEGIN IMMEDIATE")
        shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100")
        until(lambda: shoal("jobs", "--json").lines[0]["state"] == "done")
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "done, sink behind by" in err and "resume: shoal resume" in err
    assert "done, sink behind by" in shoal("job", "last").out
    holder.execute("COMMIT")
    holder.close()
    assert shoal("resume", "last").code == 0
    assert rows(file) == exported(shoal)
    assert shoal("resume", "last").code == 2, "nothing is left"


def test_refused_items_are_shown_with_the_words_of_the_database_and_tried_again(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    db = sqlite3.connect(shoal.folder / "books.db")
    db.execute("CREATE TABLE books (_id text PRIMARY KEY, title text, price text CHECK (price < 'A'))")
    assert shoal("crawl", "books.py", *SINK).code == 0
    refused = shoal("items", "last", "--refused")
    assert "CHECK constraint failed" in refused.out and "refused" in refused.out
    n = len(shoal("items", "last", "--refused", "--json").lines)
    assert len(rows(shoal.folder / "books.db")) + n == len(exported(shoal))
    columns = "_id text PRIMARY KEY, title text, price text, _job text, _url text"
    db.execute("ALTER TABLE books RENAME TO old")
    db.execute(f"CREATE TABLE books ({columns})")
    db.execute("INSERT INTO books SELECT _id, title, price, _job, _url FROM old")
    db.commit()
    db.close()
    assert shoal("items", "last", "--refused", "--retry").err.startswith(
        f"{n} refused items queued for another delivery"
    )
    assert rows(shoal.folder / "books.db") == exported(shoal)


def test_with_provenance_a_row_has_what_an_export_has(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    ran = shoal("crawl", "books.py", *SINK, "--provenance")
    assert ran.code == 0, ran.err
    names = "title,_url,_job,_spider_version,_fetched_at"
    with sqlite3.connect(shoal.folder / "books.db") as db:
        found = db.execute(f"SELECT {names} FROM books").fetchall()
    assert shoal("export", "last", "-o", "out.jsonl", "--provenance", "--fields", names).code == 0
    lines = [json.loads(line) for line in (shoal.folder / "out.jsonl").read_text().splitlines()]
    assert sorted(row[:4] for row in found) == sorted(tuple(line.values())[:4] for line in lines)
    times = {datetime.fromisoformat(line["_fetched_at"]).replace(tzinfo=None) for line in lines}
    assert {datetime.fromisoformat(row[4]).replace(tzinfo=None) for row in found} == times
    assert len({row[3] for row in found}) == 1 and found[0][3]


def test_provenance_without_a_file_or_sink_is_refused(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    ran = shoal("crawl", "books.py", "--provenance")
    assert ran.code == 2 and "give -o FILE or --sink URL" in ran.err
    assert shoal("jobs", "--json").lines == []


def test_extracted_items_replace_those_in_the_table(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    assert shoal("crawl", "books.py", *SINK).code == 0
    spider = (shoal.folder / "books.py").read_text().replace('css("h3 a")', 'css("h3 a::attr(href)")')
    (shoal.folder / "books.py").write_text(spider)
    assert shoal("extract", "last", "--spider", "books.py").code == 0
    found = rows(shoal.folder / "books.db")
    assert found == exported(shoal) and all("/" in title for title, _ in found)


def test_a_sink_that_cannot_work_is_found_before_the_first_request(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    for url, words in {
        "sqlite:///nowhere/books.db": "unable to open database file",
        "postgresql://me:hush@localhost/db": "a job never holds a password",
        "postgresql://me:{secret:db}@localhost/db": "there is no secret db: set SHOAL_SECRET_DB",
        "ftp://localhost/": "Shoal has no sink for ftp",
        "sqlite:///books.db?tabel=x": "has the unknown parameter tabel",
    }.items():
        ran = shoal("crawl", "books.py", "--sink", url)
        assert (ran.code, words in ran.err) == (2, True), ran.err
        assert "hush" not in ran.err
    assert "--sink delivers items" in shoal("crawl", site.url(), *SINK).err
    assert not site.log_path.read_bytes() and not shoal("jobs", "--json").lines
