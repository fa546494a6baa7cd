from __future__ import annotations

import gzip
import random
import socket
import zlib

import brotli
import pytest
import zstandard

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.robots import MAX_ROBOTS_BYTES, RobotsFile, fetch_robots, product_token
from tests.fetch.conftest import AGENT
from tests.fetch.site import Site, answer, serving

RULES = b"""
User-agent: *
Disallow: /

User-Agent: Shoal
Disallow: /private
Allow: /private/open$
Crawl-delay: 2.5

Sitemap: https://shop.example/sitemap.xml
"""


def stored(body: bytes, status: int | None = 200) -> RobotsFile:
    return RobotsFile("http://shop.example", AGENT, status, body, 0.0)


def test_rules_are_those_for_our_product_token() -> None:
    rules = stored(RULES).rules
    assert rules.allows("http://shop.example/")
    assert not rules.allows("http://shop.example/private/x")
    assert rules.allows("http://shop.example/private/open")
    assert not rules.allows("http://shop.example/private/open/x")
    assert rules.allows("http://shop.example/robots.txt")
    assert rules.crawl_delay_s == 2.5
    assert rules.sitemaps == ["https://shop.example/sitemap.xml"]


@pytest.mark.parametrize(
    "line",
    [
        "User-agent: shoal/0.1.0",
        "user-agent:Shoal/9",
        "User-Agent : shoal",
        "User-agent: shoal/0.1.0 (+https://example.org/bot)",
        "User-agent: shoal crawler",
        "User-agent: shoal;",
        "User-agent: shoal, googlebot",
    ],
)
def test_a_line_that_begins_with_our_product_token_is_for_us(line: str) -> None:
    rules = stored(f"{line}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b".encode()).rules
    assert not rules.allows("http://shop.example/a") and rules.allows("http://shop.example/b")


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("shoal/0.1.0", "shoal"),
        ("shoal/0.1.0 (+https://example.org)", "shoal"),
        ("my-bot", "my-bot"),
        ("Mozilla/5.0 (compatible; fish_bot/2; +https://example.org)", "fish_bot"),
    ],
)
def test_the_product_token_is_the_agents_name(agent: str, token: str) -> None:
    assert product_token(agent) == token


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n <!doctype html><p>Disallow: /",
        b"<!-- x --><html><pre>\nUser-agent: *\nDisallow: /",
        b"\xff\xfe\0\x80nonsense\r\r",
        b"Disallow: /",
    ],
)
def test_files_without_rules_for_anyone_allow_all(body: bytes) -> None:
    assert stored(body).rules.allows("http://shop.example/a")
    assert stored(body).rules.crawl_delay_s == 0


def test_rules_after_a_comment_of_html_are_read() -> None:
    assert not stored(b"<!-- our robots -->\nUser-Agent : *\nDisallow: /").rules.allows("http://shop.example/")


def test_an_unknown_line_does_not_end_a_list_of_user_agents() -> None:
    rules = stored(b"User-agent: shoal\nNoindex: /a\nHost: shop.example\nUser-agent: *\nDisallow: /").rules
    assert not rules.allows("http://shop.example/")


def test_a_byte_order_mark_does_not_hide_the_first_group() -> None:
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb"):
        assert not stored(mark + b"User-agent: *\nDisallow: /a").rules.allows("http://shop.example/a")


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 451])
def test_a_file_that_is_not_there_allows_all(status: int) -> None:
    robots = stored(b"User-agent: *\nDisallow: /", status)
    assert robots.unavailable_reason == ""
    assert robots.rules.allows("http://shop.example/a")


@pytest.mark.parametrize("status", [429, 500, 503, 599, None])
def test_a_host_in_trouble_means_not_now(status: int | None) -> None:
    assert "robots.txt" in stored(b"", status).unavailable_reason


def test_a_rule_cut_in_two_is_not_a_rule() -> None:
    filler = b"User-agent: *\nDisallow: /x\n" + b"#" * (MAX_ROBOTS_BYTES - 27 - 12) + b"\n"
    body = filler + b"Disallow: /private\n"
    rules = stored(body).rules
    assert not rules.allows("http://shop.example/x")
    assert rules.allows("http://shop.example/other")


async def test_a_file_is_fetched_and_read(fetcher: Fetcher, site: Site) -> None:
    site.routes["/robots.txt"] = answer(RULES)
    robots = await fetch_robots(fetcher, site.url)
    assert (robots.status, robots.body, robots.unavailable_reason) == (200, RULES, "")
    assert not robots.rules.allows(f"{site.url}/private")


async def test_five_redirects_are_followed_and_no_more(fetcher: Fetcher, site: Site) -> None:
    for hop in range(6):
        site.routes[f"/{hop}"] = answer(b"", "301 Moved", (f"Location: /{hop + 1}",))
    site.routes["/robots.txt"] = answer(b"", "301 Moved", ("Location: /1",))
    site.routes["/5"] = answer(RULES)
    assert not (await fetch_robots(fetcher, site.url)).rules.allows(f"{site.url}/private")
    site.routes["/5"] = answer(b"", "301 Moved", ("Location: /6",))
    site.routes["/6"] = answer(RULES)
    lost = await fetch_robots(fetcher, site.url)
    assert (lost.status, lost.unavailable_reason) == (301, "")
    assert lost.rules.allows(f"{site.url}/private")
    assert "/6" not in [asked.path for asked in site.asked]


async def test_redirects_that_lead_nowhere_fetchable_are_not_followed(fetcher: Fetcher, site: Site) -> None:
    site.routes["/robots.txt"] = answer(b"", "302 Found", ("Location: file:///etc/passwd",))
    assert (await fetch_robots(fetcher, site.url)).status == 302


async def test_credentials_and_headers_do_not_follow_to_another_origin(fetcher: Fetcher, site: Site) -> None:
    async with serving(Site()) as other:
        site.routes["/robots.txt"] = answer(b"", "302 Found", ("Location: /own",))
        site.routes["/own"] = answer(b"", "302 Found", (f"Location: {other.url}/theirs",))
        await fetch_robots(fetcher, site.url, credentials="ann:secret", headers={"X-Key": "k"})
        assert [asked.headers.get("x-key") for asked in site.asked] == ["k", "k"]
        assert all("authorization" in asked.headers for asked in site.asked)
        assert not {"x-key", "authorization"} & set(other.asked[0].headers)


async def test_a_busy_host_says_when_to_come_back(fetcher: Fetcher, site: Site) -> None:
    site.routes["/robots.txt"] = answer(b"", "503 Busy", ("Retry-After: 120",))
    robots = await fetch_robots(fetcher, site.url)
    assert robots.unavailable_reason == "robots.txt answered 503"
    assert robots.retry_after_s == 120


async def test_a_host_out_of_reach_means_not_now(fetcher: Fetcher) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        robots = await fetch_robots(fetcher, f"http://127.0.0.1:{bound.getsockname()[1]}")
    assert robots.failure is not None
    assert robots.failure.kind == "connect"
    assert robots.unavailable_reason.startswith("robots.txt cannot be fetched")


RANDOM = random.Random(7)
LISTED = b"".join(b"Disallow: /%x/\n" % RANDOM.getrandbits(64) for _ in range(3_000))
PACKED = {
    "gzip": gzip.compress(LISTED),
    "deflate": zlib.compress(LISTED),
    "br": brotli.compress(LISTED),
    "zstd": zstandard.compress(LISTED),
    "gzip twice": gzip.compress(LISTED) + gzip.compress(LISTED),
}


@pytest.mark.parametrize("coding", PACKED)
async def test_a_coded_file_that_breaks_off_means_not_now(fetcher: Fetcher, site: Site, coding: str) -> None:
    packed, header = PACKED[coding], f"Content-Encoding: {coding.removesuffix(' twice')}"
    site.routes["/robots.txt"] = answer(packed, headers=(header,))
    assert not (await fetch_robots(fetcher, site.url)).unavailable_reason
    site.routes["/robots.txt"] = answer(packed[: len(packed) * 3 // 4], headers=(header,))
    robots = await fetch_robots(fetcher, site.url)
    assert robots.failure is not None and robots.failure.kind == "undecodable"
    assert "is truncated" in robots.unavailable_reason and not robots.body


async def test_what_follows_a_coded_file_does_not_make_it_torn(fetcher: Fetcher, site: Site) -> None:
    site.routes["/robots.txt"] = answer(PACKED["gzip"] + b"\0" * 100, headers=("Content-Encoding: gzip",))
    assert (await fetch_robots(fetcher, site.url)).body == LISTED


async def test_a_coded_file_that_we_cut_ourselves_is_read(fetcher: Fetcher, site: Site) -> None:
    noise = b"User-agent: *\nDisallow: /x\n" + b"".join(b"# %x\n" % RANDOM.getrandbits(256) for _ in range(30_000))
    packed = gzip.compress(noise)
    assert len(packed) > MAX_ROBOTS_BYTES
    site.routes["/robots.txt"] = answer(packed, headers=("Content-Encoding: gzip",))
    robots = await fetch_robots(fetcher, site.url)
    assert not robots.unavailable_reason and not robots.rules.allows(f"{site.url}/x")


async def test_of_an_enormous_file_the_first_part_is_read(fetcher: Fetcher, site: Site) -> None:
    site.routes["/robots.txt"] = answer(b"User-agent: *\nDisallow: /x\n" + b"# more\n" * 1_000_000)
    robots = await fetch_robots(fetcher, site.url)
    assert len(robots.body) == MAX_ROBOTS_BYTES + 1
    assert not robots.rules.allows(f"{site.url}/x")
