from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.fetch.cookie_file import read_cookies
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.curl_fetcher import Fetcher
from tests.fetch.site import Site
from tests.fetch.test_cookie_jar import cookie_sent

NOW = 1_800_000_000.0
LATER = "4000000000"
FILE = "\n".join(
    (
        "# Netscape HTTP Cookie File",
        "",
        f".example.com\tTRUE\t/\tFALSE\t{LATER}\twide\t1",
        "shop.example.com\tFALSE\t/\tFALSE\t0\tsession\t2",
        f"#HttpOnly_shop.example.com\tFALSE\t/cart\tfalse\t{LATER}.75\tcart\t3",
        f"shop.example.com\tFALSE\t/\tTRUE\t{LATER}\tonly_tls\t4",
        "shop.example.com\tFALSE\t/\tFALSE\t1700000000\texpired\t5",
        f"shop.example.com\tFALSE\t/\tFALSE\t{LATER}\tempty",
    )
)


def test_comments_and_expired_cookies_are_left_out() -> None:
    lines = read_cookies(FILE.replace("\n", "\r\n"), NOW).splitlines()
    assert [line.split("\t")[5] for line in lines] == ["wide", "session", "cart", "only_tls", "empty"]
    assert lines[2] == f"#HttpOnly_shop.example.com\tFALSE\t/cart\tFALSE\t{LATER}\tcart\t3"
    assert read_cookies("\n".join(lines), NOW) == "\n".join(lines), "a job reads its own text again"


async def test_each_cookie_goes_where_it_belongs(fetcher: Fetcher, site: Site) -> None:
    jar = CookieJar()
    jar.add_lines(read_cookies(FILE, NOW).splitlines())

    async def sent(url: str) -> list[str]:
        # The site, used as a proxy, plays every name.
        return sorted(filter(None, (await cookie_sent(fetcher, site, url, jar, site.url)).split("; ")))

    assert await sent("http://shop.example.com/") == ["empty=", "session=2", "wide=1"]
    assert await sent("http://shop.example.com/cart/1") == ["cart=3", "empty=", "session=2", "wide=1"]
    assert await sent("http://other.example.com/") == ["wide=1"]
    assert await sent("http://example.org/") == []
    assert jar.changed_lines() == [], "the job's own cookies are no news for other workers"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no cookie"),
        ("# only a comment\n", "there is no cookie"),
        ("a.test\tFALSE\t/\tFALSE\t1\tname\thush", "every cookie has expired"),
        ("a.test FALSE / FALSE 0 name hush", "line 1: it has no 7 fields"),
        ("\na.test\tFALSE\t/\tFALSE\tsoon\tname\thush", "line 2: its expiry"),
        ("a.test\tmaybe\t/\tFALSE\t0\tname\thush", "line 1: its second and fourth field"),
        ("a.test\tFALSE\tx\tFALSE\t0\tname\thush", "line 1: domain, path or name"),
        ("a.test\tFALSE\t/\tFALSE\t0\tname\thush\x1b", "line 1: it has control characters"),
        ("x" * 200_001, "200,001 characters"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_its_values(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        read_cookies(text, NOW)
    assert "hush" not in str(refused.value)
