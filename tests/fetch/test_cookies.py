from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.fetch.cookies import Jar
from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange
from shoal.fetch.transfer import Fetch
from tests.fetch.site import Site, answer


async def cookie_sent(fetcher: Fetcher, site: Site, url: str, jar: Jar | None, proxy: str = "") -> str:
    assert isinstance(await fetcher.fetch(Fetch(url, jar=jar, proxy=proxy)), Exchange)
    return site.asked[-1].headers.get("cookie", "")


async def test_cookies_stay_in_the_jar_that_got_them(fetcher: Fetcher, site: Site) -> None:
    site.routes["/login"] = answer(headers=("Set-Cookie: session=1; Path=/",))
    mine, other = Jar(), Jar()
    await fetcher.fetch(Fetch(f"{site.url}/login", jar=mine))
    assert await cookie_sent(fetcher, site, site.url, mine) == "session=1"
    assert await cookie_sent(fetcher, site, site.url, other) == ""
    assert await cookie_sent(fetcher, site, site.url, None) == ""
    assert await cookie_sent(fetcher, site, site.url, mine) == "session=1"


async def test_without_a_jar_cookies_are_not_kept(fetcher: Fetcher, site: Site) -> None:
    site.routes["/login"] = answer(headers=("Set-Cookie: session=1; Path=/",))
    await fetcher.fetch(Fetch(f"{site.url}/login"))
    assert await cookie_sent(fetcher, site, site.url, None) == ""


async def test_cookies_go_only_where_they_belong(fetcher: Fetcher, site: Site) -> None:
    # The site, used as a proxy, plays every name.
    jar = Jar()
    fields = ("Set-Cookie: wide=1; Domain=shop.co.uk", "Set-Cookie: tight=1", "Set-Cookie: all=1; Domain=co.uk")
    site.routes["http://www.shop.co.uk/login"] = answer(headers=fields)
    await fetcher.fetch(Fetch("http://www.shop.co.uk/login", jar=jar, proxy=site.url))
    sent = {
        host: await cookie_sent(fetcher, site, f"http://{host}/", jar, site.url)
        for host in ("www.shop.co.uk", "shop.co.uk", "other.co.uk", "shop.co.uk.evil.example")
    }
    assert set(sent["www.shop.co.uk"].split("; ")) == {"wide=1", "tight=1"}
    assert sent["shop.co.uk"] == "wide=1"
    assert sent["other.co.uk"] == sent["shop.co.uk.evil.example"] == ""


async def test_given_cookies_go_to_their_host_alone(fetcher: Fetcher, site: Site) -> None:
    jar = Jar()
    jar.add("http://shop.example/start", "a=b; c=d=e")
    jar.add("https://safe.example/", "s=1")
    assert set((await cookie_sent(fetcher, site, "http://shop.example/x", jar, site.url)).split("; ")) == {
        "a=b",
        "c=d=e",
    }
    assert await cookie_sent(fetcher, site, "http://www.shop.example/", jar, site.url) == ""
    assert await cookie_sent(fetcher, site, "http://safe.example/", jar, site.url) == ""


@pytest.mark.parametrize("cookie", ["novalue", "=x", "a=b\tc", "a=b\r\nX: y", "a\0=b"])
def test_what_is_no_cookie_is_refused_with_a_reason(cookie: str) -> None:
    with pytest.raises(UsageError, match="is not a cookie"):
        Jar().add("http://shop.example/", cookie)


async def test_a_jar_can_be_written_down_and_read_back(fetcher: Fetcher, site: Site) -> None:
    fields = ("Set-Cookie: n=caf\xc3\xa9; Path=/", "Set-Cookie: h=1; HttpOnly; Path=/; Max-Age=3600")
    site.routes["/login"] = answer(headers=fields)
    jar, copy = Jar(), Jar()
    await fetcher.fetch(Fetch(f"{site.url}/login", jar=jar))
    copy.load(jar.lines())
    assert sorted(copy.lines()) == sorted(jar.lines())
    assert len(copy.lines()) == 2
    assert set((await cookie_sent(fetcher, site, site.url, copy)).split("; ")) == {"n=caf\xc3\xa9", "h=1"}


async def test_only_whole_cookie_lines_are_loaded(fetcher: Fetcher, site: Site) -> None:
    jar = Jar()
    jar.add(site.url, "good=1")
    jar.load(["Set-Cookie: evil=1", "ALL", "", "nonsense"])
    assert await cookie_sent(fetcher, site, site.url, jar) == "good=1"
