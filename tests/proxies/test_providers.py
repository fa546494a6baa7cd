"""Providers whose API takes the target as a parameter: the recipes of the docs, against stand-ins for the APIs."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

import shoal
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.errors import UsageError
from shoal.jobs.try_proxies import try_proxies
from shoal.model import JobState
from shoal.model.proxy_list import check_no_password, read_proxies, with_secrets
from shoal.store.results.listings import list_pages
from shoal.urls import Exclusions
from tests.fetch.site import Asked, Site, answer, serving
from tests.proxies.bad_proxy import LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import OWN, make_job

DOCS = Path(shoal.__file__).parents[2] / "docs" / "proxies.md"
RECIPES = {json.loads(line)["name"]: line for line in re.findall(r"^\{\"name\".*$", DOCS.read_text(), re.MULTILINE)}
SECRETS = {"scrapeops": "hush1", "crawlbase": "hush2", "zyte": "hush3"}


def _target(name: str, asked: Asked) -> tuple[str, str]:
    """What the stand-in is asked for, and the key that it is given."""
    if name == "zyte":
        return json.loads(asked.body)["url"], asked.headers["authorization"].removeprefix("Basic ")
    query = dict(parse_qsl(urlsplit(asked.path).query))
    return query["url"], query.get("api_key") or query["token"]


async def _page(url: str) -> tuple[int, bytes]:
    """Fetched from another address than the crawler's."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=("127.0.0.7", 0))
    writer.write(f"GET {parts.path} HTTP/1.0\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.findall(rb"Content-Length: (\d+)", head)[0])
    body = await reader.readexactly(length)
    writer.close()
    return int(head.split()[1]), body


@asynccontextmanager
async def stand_in(name: str, asked: list[tuple[str, str]]) -> AsyncIterator[Site]:
    async def route(request: Asked, writer: asyncio.StreamWriter) -> None:
        url, key = _target(name, request)
        asked.append((url, key))
        if len(asked) == 3:
            return await answer(b"busy", "429 Too Many Requests")(request, writer)
        status, body = await _page(url)
        headers: tuple[str, ...] = ("Content-Type: text/html",)
        if name == "zyte":
            told = {"url": url, "statusCode": status, "httpResponseBody": base64.b64encode(body).decode()}
            body, headers = json.dumps(told).encode(), ("Content-Type: application/json",)
        elif name == "scrapeops":
            headers += (f"Sops-Final-Status-Code: {status}", f"Sops-Final-Url: {url}")
        else:
            headers += (f"original_status: {status}", f"url: {url}", "pc_status: 200")
        return await answer(body, "200 OK", headers)(request, writer)

    async with serving(Site(otherwise=route)) as site:
        yield site


@pytest.mark.parametrize("name", sorted(RECIPES))
async def test_a_recipe_of_the_docs_fetches_a_site_and_nothing_goes_direct(tmp_path: Path, name: str) -> None:
    asked: list[tuple[str, str]] = []
    with Home(tmp_path / "home") as home:
        async with listening(LoggedSite(pages=6)) as site, stand_in(name, asked) as api:
            check_no_password(read_proxies(RECIPES[name]))
            recipe = re.sub(r"https://[^/\"]+/", f"{api.url}/", RECIPES[name], count=1)
            job = make_job(home, site, proxy_pool=recipe)
            async with asyncio.timeout(60):
                seen = (await Crawl(home, job, 4, Exclusions(), secrets=SECRETS).run()).overview
            pages = list(list_pages(home.store, job, {}))
            assert seen.state is JobState.DONE and (seen.frontier.pages, seen.frontier.dead) == (6, 0)
            assert site.addresses == {"127.0.0.7"} and OWN not in site.addresses
        assert {page["via"] for page in pages} == {f"http via {name}"} and {page["attempts"] for page in pages} == {1}
        assert {page["title"] for page in pages} >= {"/", "/p0"}
    assert {key for _, key in asked} == {SECRETS[name]} and asked[0][0].endswith("/robots.txt")
    assert SECRETS[name] not in repr(pages)


async def test_the_providers_of_a_list_are_tested_like_proxies() -> None:
    asked: list[tuple[str, str]] = []
    async with listening(LoggedSite()) as site, stand_in("scrapeops", asked) as api:
        recipe = re.sub(r"https://[^/\"]+/", f"{api.url}/", RECIPES["scrapeops"], count=1)
        listed = with_secrets(read_proxies(recipe), SECRETS)
        (trial,) = [one async for one in try_proxies(listed, site.url, "shoal", True, "de", 20)]
        assert (trial.proxy, trial.ok, trial.status) == ("scrapeops", True, 200) and site.addresses == {"127.0.0.7"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"url": "ftp://a/"}, "needs the url of the API"),
        ({"query": {}}, "names the target as {url}"),
        ({"colour": "red"}, "'colour' is no part of a recipe"),
        ({"their_fault": "all"}, "their_fault of a recipe must be a list"),
        ({"price": "free"}, "price=0.001/request"),
    ],
)
def test_a_fault_in_a_recipe_is_named(change: dict[str, Any], why: str) -> None:
    recipe = {"url": "https://api.example/", "query": {"key": "{secret:A}", "url": "{url}"}, **change}
    with pytest.raises(UsageError, match=re.escape(why)):
        read_proxies(json.dumps(recipe))


@pytest.mark.parametrize(("told", "status"), [((), 503), (("X-Status: 500",), None)])
async def test_the_status_of_an_answer_is_the_sites_unless_a_header_has_that(
    told: tuple[str, ...], status: int | None
) -> None:
    busy = Site(otherwise=answer(b"busy", "503 Service Unavailable", told))
    async with serving(busy) as api:
        recipe = {"url": f"{api.url}/?u={{url}}", **({"status_header": "X-Status"} if told else {})}
        (trial,) = [one async for one in try_proxies(read_proxies(json.dumps(recipe)), api.url, "shoal", True, "", 20)]
    assert trial.status == status, trial


def test_a_kept_recipe_names_its_key() -> None:
    with pytest.raises(UsageError, match=r"api\.example has a password"):
        check_no_password(read_proxies('{"url": "https://api.example/", "query": {"api_key": "hush", "url": "{url}"}}'))
