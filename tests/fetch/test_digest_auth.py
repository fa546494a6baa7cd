"""Digest authentication: the examples of RFC 7616, and a site that asks for it."""

from __future__ import annotations

import asyncio
import hashlib
import re

import pytest

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.digest_auth import best_challenge
from tests.fetch.asking import got
from tests.fetch.site import Asked, Site, answer

RFC = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
CLIENT_NONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_the_examples_of_the_standard(algorithm: str, response: str) -> None:
    challenge = best_challenge([RFC.format(algorithm)])
    assert challenge is not None
    call = Fetch("http://www.example.org/dir/index.html", credentials="Mufasa:Circle of Life")
    sent = challenge.authorization(call, CLIENT_NONCE)
    assert f'response="{response}"' in sent and 'uri="/dir/index.html"' in sent and "nc=00000001" in sent


def test_the_better_of_several_challenges_is_answered() -> None:
    both = best_challenge(['Basic realm="x, y", ' + RFC.format("MD5"), RFC.format("SHA-256")])
    assert both is not None and both.algorithm == "SHA-256"
    within = best_challenge([f'{RFC.format("MD5")}, Basic realm="z"'])
    assert within is not None and within.realm == "http-auth@example.org"


@pytest.mark.parametrize(
    "field", ["", "Basic realm=x", "Digest realm=x", 'Digest nonce="1", qop="auth-int"', "Digest nonce=1, algorithm=X"]
)
def test_what_cannot_be_answered_is_no_challenge(field: str) -> None:
    assert best_challenge([field]) is None


class Guarded:
    """Lets in who proves to know the password for its current nonce."""

    def __init__(self, algorithm: str = "", qop: str = ', qop="auth"') -> None:
        self.nonce, self._algorithm, self._qop = "first", algorithm, qop

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if self._admits(asked):
            await answer(b"welcome")(asked, writer)
            return
        algorithm = f", algorithm={self._algorithm}" if self._algorithm else ""
        challenge = f'Digest realm="a \\"shop\\"", nonce="{self.nonce}"{self._qop}{algorithm}'
        writer.write(f"HTTP/1.1 401 No\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n".encode())

    def _admits(self, asked: Asked) -> bool:
        sent = asked.headers.get("authorization", "")
        given = dict(re.findall(r'(\w+)="?([^",]*)"?', sent))
        if not sent.startswith("Digest ") or given["nonce"] != self.nonce:
            return False
        hashed = hashlib.sha256 if self._algorithm.startswith("SHA") else hashlib.md5
        secret, request = (
            hashed(text.encode()).hexdigest() for text in ('ann:a "shop":pass:word', f"{asked.method}:{asked.path}")
        )
        if self._algorithm.endswith("sess"):
            secret = hashed(f"{secret}:{given['nonce']}:{given['cnonce']}".encode()).hexdigest()
        middle = f"{given['nc']}:{given['cnonce']}:auth:" if self._qop else ""
        return bool(given["response"] == hashed(f"{secret}:{self.nonce}:{middle}{request}".encode()).hexdigest())


@pytest.mark.parametrize("algorithm", ["", "MD5", "MD5-sess", "SHA-256", "SHA-256-sess"])
async def test_a_host_is_answered_as_it_asks_and_then_each_page_takes_one_request(
    fetcher: Fetcher, site: Site, algorithm: str
) -> None:
    site.otherwise = Guarded(algorithm)
    for path in ("/", "/a?b=c", "/d"):
        assert (await got(fetcher, site.url + path, credentials="ann:pass:word")).body == b"welcome"
    assert [asked.path for asked in site.asked] == ["/", "/", "/a?b=c", "/d"]
    counts = [re.findall("nc=0*([0-9])", asked.headers["authorization"]) for asked in site.asked[1:]]
    assert counts == [["1"], ["2"], ["3"]]


async def test_a_host_of_the_older_standard_is_answered(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = Guarded(qop="")
    assert (await got(fetcher, site.url + "/", credentials="ann:pass:word")).status == 200


async def test_a_nonce_that_expires_is_replaced(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = guarded = Guarded()
    await got(fetcher, site.url + "/", credentials="ann:pass:word")
    guarded.nonce = "second"
    assert (await got(fetcher, site.url + "/", credentials="ann:pass:word")).status == 200


async def test_a_wrong_password_is_refused_once_and_not_tried_for_ever(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = Guarded()
    refused = await got(fetcher, site.url + "/", credentials="ann:wrong")
    assert (refused.status, refused.wants_repeat, len(site.asked)) == (401, False, 2)


async def test_nobody_else_gets_the_signature(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = Guarded()
    await got(fetcher, site.url + "/", credentials="ann:pass:word")
    await got(fetcher, site.url + "/")
    await got(fetcher, site.url + "/", credentials="ann:pass:word", headers={"Authorization": "Bearer t"})
    assert [asked.headers.get("authorization") for asked in site.asked[2:]] == [None, "Bearer t"]
