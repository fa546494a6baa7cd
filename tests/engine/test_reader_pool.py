"""Pages and sitemaps, read in a process of their own."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoal.cpu_wait import cpu_wait_s
from shoal.engine.readers.pool import ReaderPool
from shoal.engine.readers.reader_client import LAST_NICENESS, ReaderProcess, ReadFailed
from shoal.engine.readers.scheduler import ReadAbandoned
from shoal.engine.reading.parse_page import BIG_BYTES, ParseRequest, read_page
from shoal.engine.reading.read_by_rules import RulesRequest
from shoal.extract.page import MAX_LINKS
from shoal.practice import Answer, Visit
from shoal.spiders.page import Page
from tests.engine.conftest import Field, Pages, html, serving, spec
from tests.hostile.processes import children_of

JOB = "job"
ASK = ParseRequest(
    "http://site.example/",
    "text/html; charset=utf-8",
    "",
    "shoal",
    obey_noindex=True,
    obey_nofollow=True,
    keep_text=True,
)
BIG = b"<title>Big</title><meta name=description content=d><html lang=en><base href=/b/>" + b"".join(
    b"<p>W\xc3\xb6rd <a href=/%d>x</a><a rel=nofollow href=/no>y</a>" % n for n in range(10_000)
)
SLOW: dict[str, Any] = {"do": "select", "kind": "xpath", "selector": "//a[count(preceding::a) > count(following::a)]"}
SLOW["page"] = RulesRequest.of(Page("http://site.example/", b""))
EAT = ASK._replace(content_type="text/html; charset=latin-1")
EATING = b"\xe9" * 10_000_000
"""Decoded, encoded and taken as text it becomes several times as much."""
CLINGING = b"<title>Clings</title><p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">"
"""Its parser is not done when it is left, and refers to itself and to the page."""


@asynccontextmanager
async def readers(
    seconds: float = 30.0,
    memory_bytes: int = 1 << 30,
    kept_bytes: int = 200_000_000,
    lower_after_s: float = 60.0,
    frozen_after_s: float = 60.0,
    waited_s: Callable[[int], float] = cpu_wait_s,
) -> AsyncIterator[ReaderPool]:
    pool = ReaderPool(
        seconds,
        memory_bytes,
        kept_bytes,
        lower_after_s=lower_after_s,
        frozen_after_s=frozen_after_s,
        waited_s=waited_s,
    )
    try:
        yield pool
    finally:
        pool.close()


def children() -> set[int]:
    """Of this process: those that read."""
    return children_of(os.getpid(), b"reader")


async def until(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        await asyncio.sleep(0.002)


async def reader_pid() -> int:
    await until(lambda: bool(children()), "nobody reads")
    return children().pop()


def held_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


async def test_a_page_reads_the_same_here_and_aside() -> None:
    async with readers() as pool:
        assert await pool.page(JOB, ASK, BIG) == read_page(ASK, BIG)
        odd = ASK._replace(content_type="text/html; charset=utf-16", header_robots="noindex")
        assert await pool.page(JOB, odd, BIG[:-1]) == read_page(odd, BIG[:-1])


async def test_one_process_serves_page_after_page_and_ends_with_its_owner() -> None:
    async with readers() as pool:
        await pool.page(JOB, ASK, BIG)
        (first,) = children()
        await pool.page(JOB, ASK, BIG)
        assert children() == {first}
    assert not children()


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGKILL])
async def test_a_page_that_kills_its_reader_is_blamed_alone(by: signal.Signals) -> None:
    async with readers() as pool:
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        os.kill(await reader_pid(), by)
        with pytest.raises(ReadFailed, match=by.name) as caught:
            await reading
        assert caught.value.reason == "poison"
        assert (await pool.page(JOB, ASK, BIG)).head.title == "Big"
        assert pool.held_bytes == 0


async def test_a_page_that_takes_too_much_memory_is_poison() -> None:
    async with readers(memory_bytes=80_000_000) as pool:
        with pytest.raises(ReadFailed, match="more than 80 MB") as caught:
            await pool.page(JOB, EAT, EATING)
        assert caught.value.reason == "poison"
        assert (await pool.page(JOB, ASK, b"<title>Small</title>")).head.title == "Small"


async def test_a_page_that_takes_too_long_is_poison() -> None:
    async with readers(seconds=0.5) as pool:
        with pytest.raises(ReadFailed, match=r"took more than [\d.]+ s"):
            await pool.ask(JOB, SLOW, b"<a href=x>x</a>" * 20_000)


async def test_a_reader_that_holds_much_after_a_page_is_replaced() -> None:
    async with readers(kept_bytes=1) as pool:
        for _ in range(3):
            assert (await pool.page(JOB, ASK, BIG)).head.title == "Big"
            # One that is replaced may take a moment to die.
            await until(lambda: not children(), "more is held than may be")


async def test_a_reader_keeps_nothing_of_the_pages_it_has_read() -> None:
    async with readers() as pool:
        for _ in range(3):
            await pool.page(JOB, ASK, CLINGING)
        pid = await reader_pid()
        before = held_bytes(pid)
        for _ in range(6):
            await pool.page(JOB, ASK, CLINGING)
        assert children() == {pid}
        assert held_bytes(pid) < before + 20_000_000


async def test_a_page_is_not_blamed_for_what_others_left_behind() -> None:
    async with readers(memory_bytes=120_000_000) as pool:
        for _ in range(10):
            assert (await pool.page(JOB, ASK, CLINGING)).head.title == "Clings"


async def test_a_page_is_not_blamed_for_the_end_of_a_reader_that_read_others() -> None:
    async with readers() as pool:
        await pool.page(JOB, ASK, BIG)
        (used,) = children()
        os.kill(used, signal.SIGSTOP)
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        await until(lambda: pool.held_bytes > 0, "nobody asks")
        os.kill(used, signal.SIGSEGV)
        os.kill(used, signal.SIGCONT)
        assert (await reading).head.title == "Big"
        assert used not in children()


async def test_a_frozen_reader_is_replaced() -> None:
    async with readers(seconds=0.25, frozen_after_s=1.0) as pool:
        await pool.page(JOB, ASK, b"<title>Small</title>")
        (frozen,) = children()
        os.kill(frozen, signal.SIGSTOP)
        assert (await pool.page(JOB, ASK, b"<title>Small</title>")).head.title == "Small"
        assert frozen not in children()


async def test_a_page_that_ends_a_used_and_a_new_reader_is_poison() -> None:
    async with readers(memory_bytes=80_000_000) as pool:
        await pool.page(JOB, ASK, b"<title>Small</title>")
        with pytest.raises(ReadFailed, match="more than 80 MB"):
            await pool.page(JOB, EAT, EATING)
        assert (await pool.page(JOB, ASK, b"<title>Small</title>")).head.title == "Small"
        assert pool.held_bytes == 0


async def test_an_answer_that_nobody_waits_for_costs_only_its_process() -> None:
    async with readers() as pool:
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        pid = await reader_pid()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await pool.page(JOB, ASK, BIG)).head.title == "Big"
        assert pid not in children()


async def test_a_format_that_takes_too_long_costs_the_page_nothing_else() -> None:
    paragraphs = b"<title>Long</title><article>" + b"<p>Some words of a page, and a few more." * 120_000
    ask = ASK._replace(formats=("metadata", "main", "tables"))
    async with readers(seconds=1.0) as pool:
        page = await pool.page(JOB, ask, paragraphs)
        assert page.head.title == "Long" and page.text
        assert set(page.formats) == {"metadata", "main", "tables"}
        assert page.formats["metadata"] and page.formats["main"] is None and page.formats["tables"] == []
        assert list(page.missing) == ["main"] and "reading it took more than" in page.missing["main"]


async def test_a_page_that_asks_not_to_be_kept_has_no_formats() -> None:
    async with readers() as pool:
        page = await pool.page(JOB, ASK._replace(header_robots="noindex", formats=("metadata",)), b"<p>words")
        assert (page.text, page.formats, page.missing) == (None, {}, {})


async def test_a_page_that_took_too_long_is_not_read_once_more() -> None:
    async with readers(seconds=1.0) as pool:
        await pool.ask(JOB, SLOW, b"<a href=x>x</a>")
        (used,) = children()
        with pytest.raises(ReadFailed, match=r"took more than \d+ s"):
            await pool.ask(JOB, SLOW, b"<a href=x>x</a>" * 20_000)
        await until(lambda: used not in children(), "it lives")
        assert not children()


async def test_what_is_read_for_long_is_told_and_can_be_given_up() -> None:
    async with readers() as pool:
        await pool.page(JOB, ASK, BIG)
        (reader,) = children()
        os.kill(reader, signal.SIGSTOP)
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        await until(lambda: "reading" in pool.notes(0.01).get(JOB, ""), "nobody reads")
        assert pool.notes(0.01)[JOB].startswith("reading a page has taken ") and pool.notes(60.0) == {}
        pool.abandon(60.0)
        pool.abandon(0.0, "another job")
        assert not reading.done()
        pool.abandon(0.0, JOB)
        with pytest.raises(ReadAbandoned):
            await reading
        assert not pool.is_busy and (await pool.page(JOB, ASK, BIG)).head.title == "Big"


async def test_a_reader_that_a_page_takes_for_long_lets_others_have_the_cpu_and_is_closed() -> None:
    async with readers(lower_after_s=5.0) as pool:
        await pool.page(JOB, ASK, BIG)
        (reader,) = children()
        os.kill(reader, signal.SIGSTOP)
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        await until(lambda: os.getpriority(os.PRIO_PROCESS, reader) == LAST_NICENESS, "it takes the CPU from others")
        os.kill(reader, signal.SIGCONT)
        assert (await reading).head.title == "Big"
        await until(lambda: reader not in children(), "it is kept")


async def test_a_page_whose_reader_waits_for_a_processor_takes_no_longer() -> None:
    looked = 0
    began = time.monotonic()

    def waited_s(_pid: int) -> float:
        nonlocal looked
        looked += 1
        return time.monotonic() - began

    async with readers(lower_after_s=0.02, waited_s=waited_s) as pool:
        await pool.page(JOB, ASK, BIG)
        (reader,) = children()
        os.kill(reader, signal.SIGSTOP)
        reading = asyncio.create_task(pool.page(JOB, ASK, BIG))
        await until(lambda: looked > 8, "nobody looks how long it waits")
        assert os.getpriority(os.PRIO_PROCESS, reader) < LAST_NICENESS
        os.kill(reader, signal.SIGCONT)
        assert (await reading).head.title == "Big"
        assert children() == {reader}


def test_a_reader_that_ends_itself_tells_how_long_it_waited() -> None:
    began = time.monotonic()
    reader = ReaderProcess(0.2, 1 << 30, waited_s=lambda _pid: time.monotonic() - began)
    try:
        reader.ask(SLOW, b"<a href=x>x</a>" * 20_000)
        with pytest.raises(ReadFailed, match="took more than"):
            reader.reply()
        assert reader.cpu_wait_s() > 0.2
    finally:
        reader.close()


async def test_a_sitemap_comes_in_parts_and_may_be_left_early() -> None:
    urls = "".join(f"<url><loc>http://site.example/{n}</loc></url>" for n in range(50_000))
    body = gzip.compress(f"<urlset>{urls}".encode())
    async with readers() as pool:
        parts = [part async for part in pool.sitemap(JOB, body)]
        assert sum(len(part.pages) for part in parts) == 50_000
        assert max(len(part.pages) for part in parts) == 1_000
        assert parts[-1].fault
        async with aclosing(pool.sitemap(JOB, body)) as again:
            async for part in again:
                assert len(part.pages) == 1_000
                break
        assert pool.held_bytes == 0


async def test_links_beyond_the_most_of_a_page_are_counted_as_skipped(crawler: Field) -> None:
    pages = {"/": html(*["/near"] * MAX_LINKS, *["/far"] * 10), "/near": html(), "/far": html()}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/near"}
    assert seen.stored.skipped == {"too_many_links": 10}


async def test_a_crawl_reads_big_pages_and_starts_no_process_for_them(crawler: Field) -> None:
    filling = "<p>word" * (BIG_BYTES // 6)
    started: list[int] = []

    def last(visit: Visit) -> Answer:
        started.append(len(children()))
        return html()

    pages: Pages = {
        "/": html("/big"),
        "/big": html("/last", *(f"/no/{n}" for n in range(3_000)), body=filling),
        "/last": last,
    }
    robots = Answer(200, b"User-agent: *\nDisallow: /no/\n", "text/plain")
    async with serving({**pages, "/robots.txt": robots}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200, "/big": 200, "/last": 200}
    assert seen.frontier.dropped == {"robots": 3_000}
    assert started == [0] and not children()


async def test_a_sitemap_does_not_outlast_the_jobs_time(crawler: Field) -> None:
    pages = {"/": html()}
    async with serving(pages) as site:
        urls = "".join(f"<url><loc>{site.url(f'/{n}')}</loc></url>" for n in range(600_000))
        listed = gzip.compress(f"<urlset>{urls}</urlset>".encode(), 1)
        pages["/sitemap.xml"] = Answer(200, listed, "application/gzip")
        crawler.add("job", spec(sitemaps=True, per_host=1, limits={"seconds": 3}), site.url())
        await crawler.run("job")
    figures = (await crawler.figures()).frontier
    assert crawler.resting == {"job": "seconds"}
    assert 0 < figures.queued < 600_000 and figures.leased == 0
    # To be read again when the job is given more time.
    assert "/sitemap.xml" not in crawler.pages()
