"""A crawl of hosts whose certificates are refused, and of those that a job accepts all the same."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.jobs.job_overview import Overview
from shoal.model import Input, JobSpec, JobState, Politeness, ScopeKind
from shoal.store.crawl.robots_files import load_robots
from shoal.store.jobs import create_job
from shoal.store.results.listings import list_dead, list_pages
from shoal.urls import Exclusions, Params, target
from tests.fetch.secure import Authority, H2Site, certify
from tests.fetch.site import Site, hang, serving

URLS = 12


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return certify(tmp_path / "keys", subject="router.lan")


async def crawl(
    home: Home, base: str, urls: int = URLS, *, robots: bool = True, **options: Any
) -> tuple[str, Overview]:
    pace = Politeness(rate=0, robots=robots)
    wanted = JobSpec("secure", scope=ScopeKind.LISTED, politeness=pace, allow_private=True, **options)
    inputs = [Input(line, "", target(f"{base}/{line}", Params(), "host")) for line in range(1, urls + 1)]
    job = f"job-{time.time()}"
    create_job(home.store, job, lambda: wanted, inputs, time.time())
    return job, (await Crawl(home, job, 8, Exclusions()).run()).overview


@pytest.mark.parametrize("robots", [True, False])
async def test_a_refused_certificate_ends_each_request_at_once(
    tmp_path: Path, authority: Authority, robots: bool
) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(H2Site(), authority.context) as site:
            job, seen = await crawl(home, site.url, robots=robots)
        dead = list(list_dead(home.store, job, {}))
        assert {(letter["reason"], letter["attempts"]) for letter in dead} == {("certificate", 1)}
        assert {letter["detail"] for letter in dead} == {
            "the certificate of router.lan is self-signed, and no authority vouches for it"
        }
        assert len(dead) == URLS == seen.frontier.dead


@pytest.mark.parametrize("robots", [True, False])
async def test_a_port_that_speaks_plain_http_is_asked_once(tmp_path: Path, robots: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    with Home(tmp_path / "home") as home:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            job, seen = await crawl(home, f"https://127.0.0.1:{port}", urls=2, robots=robots)
        dead = [(row["reason"], row["attempts"], row["detail"]) for row in list_dead(home.store, job, {})]
        assert dead == [("plain_http", 1, "the port answers without TLS: it speaks http, not https")] * 2
        assert (seen.state, [group.kind for group in seen.failures]) == (JobState.FAILED, ["plain_http"])


async def test_an_insecure_job_says_so_in_its_pages_and_its_record(tmp_path: Path, authority: Authority) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(H2Site(), authority.context) as site:
            job, seen = await crawl(home, site.url, insecure=True)
            assert seen.frontier.pages == URLS
            assert {page["via"] for page in list_pages(home.store, job, {})} == {"http-insecure"}
            assert "insecure" in seen.job.spec.overrides
            # What it was told over such a connection is not believed by jobs that check.
            assert load_robots(home.store, site.url) is None
            _, careful = await crawl(home, site.url)
            assert careful.frontier.dead == URLS


async def test_a_job_trusts_its_own_authorities(tmp_path: Path, authority: Authority) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(H2Site(), authority.context) as site:
            job, seen = await crawl(home, site.url, ca_certificates=Path(authority.ca_file).read_text())
            assert seen.frontier.pages == URLS
            assert {page["via"] for page in list_pages(home.store, job, {})} == {"http"}
            assert "ca_file" in seen.job.spec.overrides


async def test_a_job_has_its_own_time_limit_and_size_limit(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(Site()) as site:
            site.routes["/robots.txt"] = hang
            job, seen = await crawl(home, site.url, 1, timeout=0.2, retries=0)
            assert seen.frontier.dead == 1
            (letter,) = list_dead(home.store, job, {})
            assert (letter["reason"], letter["detail"][:11]) == ("timeout", "robots.txt:")
        async with serving(Site()) as site:
            site.routes["/1"] = hang
            job, _ = await crawl(home, site.url, 2, timeout=0.2, retries=0)
            assert [letter["reason"] for letter in list_dead(home.store, job, {})] == ["timeout"]
            # `hello` has five bytes.
            job, _ = await crawl(home, site.url + "/x", 1, max_page_bytes=4)
            assert [letter["reason"] for letter in list_dead(home.store, job, {})] == ["too_large"]
            job, seen = await crawl(home, site.url + "/x", 1, max_page_bytes=5)
            assert seen.frontier.pages == 1
