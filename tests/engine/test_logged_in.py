"""A job that was given a login keeps its session, and says when a host ends it."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, html, serving, spec

LINKS = ("/a", "/logout", "/wp-login.php?action=logout&_wpnonce=1", "/leave")


class Site:
    """Ends the session at /logout. Redirects /leave there."""

    def __init__(self, set_cookie: str = "") -> None:
        self.visits: list[str] = []
        self.cookies: list[str | None] = []
        self._set_cookie = {"Set-Cookie": set_cookie} if set_cookie else {}

    def __call__(self, visit: Visit) -> Answer:
        self.visits.append(visit.target)
        self.cookies.append(visit.headers.get("cookie"))
        if visit.path == "/leave":
            return Answer(302, b"", headers={"Location": "/logout"})
        return (html(*LINKS) if visit.path == "/" else html())._replace(headers=self._set_cookie)


async def crawl(crawler: Field, site: Site, **options: Any) -> Any:
    paths = ("/", "/a", "/logout", "/wp-login.php", "/leave")
    async with serving(dict.fromkeys(paths, site)) as server:
        return await crawler.crawl(spec(robots=False, **options), server.url())


@pytest.mark.parametrize(
    "login", [{"cookies": ("session=oyster",)}, {"headers": {"Authorization": "Basic eA=="}}], ids=["cookie", "header"]
)
async def test_a_job_with_a_login_follows_no_link_that_logs_out(crawler: Field, login: dict[str, Any]) -> None:
    site = Site()
    seen = await crawl(crawler, site, **login)
    assert sorted(site.visits) == ["/", "/a", "/leave"]
    assert seen.stored.skipped == {"logout": 3}


async def test_without_a_login_they_are_pages_like_others(crawler: Field) -> None:
    site = Site()
    seen = await crawl(crawler, site)
    assert len(site.visits) == 5 and seen.stored.skipped == {}


@pytest.mark.parametrize(
    ("set_cookie", "kind"),
    [
        ("session=other; Path=/", "cookie_replaced"),
        ("session=; Path=/; Max-Age=0", "cookie_deleted"),
        ("session=oyster; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "cookie_deleted"),
        ("session=oyster; Path=/; Max-Age=3600", None),
        ("visits=1; Path=/", None),
    ],
)
async def test_a_given_cookie_that_the_host_changes_is_reported_once(
    crawler: Field, set_cookie: str, kind: str | None
) -> None:
    seen = await crawl(crawler, Site(set_cookie), cookies=("session=oyster",))
    assert [(group.kind, group.n) for group in seen.failures] == ([(kind, 1)] if kind else [])
    assert not any("oyster" in (group.sample or "") for group in seen.failures)


async def test_a_job_without_cookies_neither_keeps_nor_sends_any(crawler: Field) -> None:
    site = Site("visits=1; Path=/")
    await crawl(crawler, site, use_cookies=False)
    assert len(site.visits) == 5 and set(site.cookies) == {None}
