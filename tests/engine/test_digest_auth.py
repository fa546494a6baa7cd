"""A crawl of a site that asks for Digest authentication."""

from __future__ import annotations

from shoal.model import PageRecord
from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, html, serving, spec

CHALLENGE = {"WWW-Authenticate": 'Digest realm="shop", nonce="n", qop="auth", algorithm=SHA-256'}


async def test_pages_are_fetched_with_a_signature_and_the_challenge_is_no_page(crawler: Field) -> None:
    asked: list[tuple[str, str]] = []

    def guarded(visit: Visit) -> Answer:
        way = visit.headers.get("authorization", "").partition(" ")[0]
        asked.append((visit.host + visit.path, way))
        return html("/a", "/b") if way == "Digest" else Answer(401, b"", headers=CHALLENGE)

    async with serving(dict.fromkeys(("/", "/a", "/b"), guarded), hosts=2) as site:
        credentials = {site.url("").rstrip("/"): "ann:secret"}
        elsewhere = site.url("/a", "127.0.0.2")
        seen = await crawler.crawl(spec(credentials=credentials, per_host=1), site.url(), elsewhere)
        refused = crawler.ending(elsewhere)
    assert isinstance(refused, PageRecord) and refused.status == 401
    assert (seen.stored.pages, seen.stored.failures) == (4, [])
    guarded_host = [each for each in asked if each[0].startswith("127.0.0.1")]
    ways = [way for _, way in guarded_host]
    # One request more than there are pages, and none without a name for its host.
    assert sorted(ways) == ["Basic", "Digest", "Digest", "Digest"], guarded_host
    assert [each for each in asked if each[0].startswith("127.0.0.2")] == [("127.0.0.2/a", "")]
