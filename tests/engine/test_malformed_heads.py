"""A crawl of a site whose heads have a line without a colon."""

from __future__ import annotations

from tests.engine.conftest import Field, spec
from tests.fetch.site import Site, raw, serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer running fine\r\n"


async def test_no_page_is_lost_and_one_is_asked_for_twice(crawler: Field) -> None:
    pages = {"/robots.txt": b"", "/": b"<a href=/a>a</a><a href=/b>b</a>", "/a": b"a", "/b": b"b"}
    routes = {path: raw(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) for path, body in pages.items()}
    async with serving(Site(routes=routes)) as site:
        seen = await crawler.crawl(spec(retries=0), site.url + "/")
        assert crawler.pages() == {"/": 200, "/a": 200, "/b": 200}
        assert seen.stored.dead == 0 and len(site.asked) == len(pages) + 1
