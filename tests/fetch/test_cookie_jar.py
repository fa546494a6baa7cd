from __future__ import annotations

import asyncio
import time

import pycurl
import pytest

from shoal.errors import UsageError
from shoal.fetch.cookie_jar import MOST_BYTES, MOST_COOKIES, CookieJar
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange
from tests.fetch.site import Site, answer


async def cookie_sent(fetcher: Fetcher, site: Site, url: str, jar: CookieJar | None, proxy: str = "") -> str:
    assert isinstance(await fetcher.fetch(Fetch(url, jar=jar, proxy=proxy)), Exchange)
    return site.asked[-1].headers.get("cookie", "")


async def test_cookies_stay_in_the_jar_that_got_them(fetcher: Fetcher, site: Site) -> None:
    site.routes["/login"] = answer(headers=("Set-Cookie: session=1; Path=/",))
    mine, other = CookieJar(), CookieJar()
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
    jar = CookieJar()
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
    jar = CookieJar()
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
        CookieJar().add("http://shop.example/", cookie)


async def test_a_jar_can_be_written_down_and_read_back(fetcher: Fetcher, site: Site) -> None:
    fields = ("Set-Cookie: n=caf\xc3\xa9; Path=/", "Set-Cookie: h=1; HttpOnly; Path=/; Max-Age=3600")
    site.routes["/login"] = answer(headers=fields)
    jar, copy = CookieJar(), CookieJar()
    await fetcher.fetch(Fetch(f"{site.url}/login", jar=jar))
    copy.load(jar.changed_lines())
    assert set((await cookie_sent(fetcher, site, site.url, copy)).split("; ")) == {"n=caf\xc3\xa9", "h=1"}


async def test_only_whole_cookie_lines_are_loaded(fetcher: Fetcher, site: Site) -> None:
    jar = CookieJar()
    jar.add(site.url, "good=1")
    jar.load(["Set-Cookie: evil=1", "ALL", "", "nonsense"])
    assert await cookie_sent(fetcher, site, site.url, jar) == "good=1"


def cookie(name: str, value: str, expires: int = 0) -> str:
    return "\t".join(("127.0.0.1", "FALSE", "/", "FALSE", str(expires), name, value))


class TestWhatAnswersChange:
    @staticmethod
    async def answered(fetcher: Fetcher, site: Site, jar: CookieJar, *fields: str) -> list[str]:
        """What is told of an answer with these fields."""
        site.routes["/set"] = answer(headers=tuple(f"Set-Cookie: {field}; Path=/" for field in fields))
        await fetcher.fetch(Fetch(f"{site.url}/set", jar=jar))
        return sorted(jar.changed_lines())

    async def test_is_told_once(self, fetcher: Fetcher, site: Site) -> None:
        jar = CookieJar()
        assert await self.answered(fetcher, site, jar, "a=1", "b=1") == [cookie("a", "1"), cookie("b", "1")]
        assert await self.answered(fetcher, site, jar, "a=1", "b=1") == []
        assert await self.answered(fetcher, site, jar, "a=1", "b=2") == [cookie("b", "2")]

    async def test_is_not_what_the_job_gave(self, fetcher: Fetcher, site: Site) -> None:
        jar = CookieJar()
        jar.add(site.url, "given=1")
        assert jar.changed_lines() == []
        assert await self.answered(fetcher, site, jar, "given=2") == [cookie("given", "2")]

    async def test_includes_what_was_removed(self, fetcher: Fetcher, site: Site) -> None:
        jar, other = CookieJar(), CookieJar()
        other.load(await self.answered(fetcher, site, jar, "a=1", "b=1"))
        other.load(await self.answered(fetcher, site, jar, "a=gone; Max-Age=0"))
        assert await cookie_sent(fetcher, site, site.url, other) == "b=1"
        assert other.changed_lines() == [], "it is told by the one who saw it"

    async def test_is_not_told_of_one_whose_time_is_over(self, fetcher: Fetcher, site: Site) -> None:
        jar = CookieJar()
        (line,) = await self.answered(fetcher, site, jar, "a=1; Max-Age=1")
        deadline = time.monotonic() + 120
        while await cookie_sent(fetcher, site, site.url, jar):
            assert time.monotonic() < deadline, line
            await asyncio.sleep(0.05)
        assert jar.changed_lines() == []

    async def test_is_not_told_of_an_end_that_moves_a_little(self, fetcher: Fetcher, site: Site) -> None:
        jar, now = CookieJar(), int(time.time())
        jar.load([cookie("a", "1", now + 3500), cookie("b", "1", now + 3000), cookie("c", "1", now + 9999)])
        told = await self.answered(fetcher, site, jar, *(f"{name}=1; Max-Age=3600" for name in "abc"))
        assert [line.split("\t")[5] for line in told] == ["b", "c"], "later by a tenth, and earlier"

    async def test_stands_against_older_lines_until_it_is_told(self, fetcher: Fetcher, site: Site) -> None:
        jar = CookieJar()
        jar.load([cookie("a", "old"), cookie("b", "old")])
        site.routes["/set"] = answer(headers=("Set-Cookie: a=mine; Path=/",))
        await fetcher.fetch(Fetch(f"{site.url}/set", jar=jar))
        jar.load([cookie("a", "older"), cookie("b", "new")])
        assert set((await cookie_sent(fetcher, site, site.url, jar)).split("; ")) == {"a=mine", "b=new"}
        assert jar.changed_lines() == [cookie("a", "mine")]
        jar.load([cookie("a", "newest")])
        assert jar.changed_lines() == []
        assert set((await cookie_sent(fetcher, site, site.url, jar)).split("; ")) == {"a=newest", "b=new"}

    @pytest.mark.parametrize("look_s", [0.001, 0.02])
    def test_is_looked_for_less_often_the_longer_a_look_takes(self, look_s: float) -> None:
        times = iter([0.0, look_s, look_s * 40, look_s * 60])
        jar = CookieJar(clock=lambda: next(times))
        assert jar.changed_lines() == []
        assert not jar.due
        assert jar.due


def of_host(number: int, name: str = "id", size: int = 1) -> str:
    return "\t".join((f"h{number}.example", "FALSE", "/", "FALSE", "0", name, "v" * size))


async def test_a_jar_forgets_the_oldest_hosts_beyond_its_bounds(fetcher: Fetcher, site: Site) -> None:
    jar = CookieJar()
    jar.add("http://given.example/", "mine=1")
    jar.load([of_host(number) for number in range(MOST_COOKIES)])
    assert not jar.forgotten()
    jar.load([of_host(MOST_COOKIES)])
    forgotten = jar.forgotten()
    assert MOST_COOKIES // 2 <= len(forgotten) < MOST_COOKIES
    assert ("h0.example", "/", "id") in forgotten
    assert not jar.forgotten()
    assert await cookie_sent(fetcher, site, "http://h0.example/", jar, site.url) == ""
    assert await cookie_sent(fetcher, site, f"http://h{MOST_COOKIES}.example/", jar, site.url) == "id=v"
    assert await cookie_sent(fetcher, site, "http://given.example/", jar, site.url) == "mine=1"
    # Forgotten here, and not removed by its host.
    assert jar.changed_lines() == []


async def test_a_jar_has_a_bound_of_bytes_too(fetcher: Fetcher, site: Site) -> None:
    jar = CookieJar()
    big = MOST_BYTES // 1_000
    for start in range(0, 2_000, 500):
        jar.load([of_host(number, size=big) for number in range(start, start + 500)])
        assert sum(map(len, jar._window.getinfo_raw(pycurl.INFO_COOKIELIST))) <= MOST_BYTES
    assert await cookie_sent(fetcher, site, "http://h1999.example/", jar, site.url) == "id=" + "v" * big


async def test_a_host_whose_cookie_was_forgotten_may_set_it_anew(fetcher: Fetcher, site: Site) -> None:
    site.routes["http://h0.example/login"] = answer(headers=("Set-Cookie: id=v; Path=/",))
    jar = CookieJar()
    jar.load([of_host(number) for number in range(MOST_COOKIES + 1)])
    assert ("h0.example", "/", "id") in jar.forgotten()
    await fetcher.fetch(Fetch("http://h0.example/login", jar=jar, proxy=site.url))
    assert jar.changed_lines() == [of_host(0)]
    assert await cookie_sent(fetcher, site, "http://h0.example/", jar, site.url) == "id=v"
