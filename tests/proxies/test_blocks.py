"""Block pages of the common vendors, as we write them after their documentation, and good pages that look like them."""

from __future__ import annotations

import pytest

from shoal.fetch.blocks.find_block import find_block
from shoal.fetch.blocks.vendor_marks import MARKS
from shoal.fetch.exchange import Exchange, Headers

CAPTCHA = b"<title>Are you a robot?</title><form><div class='g-recaptcha'></div></form>"


def answer(status: int, body: bytes = b"", **headers: str) -> Exchange:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Exchange("https://a.test/", status, "", Headers(pairs), b"", body, body, "1.1", "", 0.1, 0.0)


BLOCKS = {
    "Cloudflare": [
        answer(403, b"<title>Just a moment...</title>", cf_mitigated="challenge"),
        answer(200, b"", cf_mitigated="challenge"),
        answer(503, b"<script src='/cdn-cgi/challenge-platform/x'></script>", server="cloudflare"),
        answer(403, b"error code: 1020", server="cloudflare"),
    ],
    "AWS WAF": [answer(202, b"", x_amzn_waf_action="challenge"), answer(405, b"", x_amzn_waf_action="captcha")],
    "Akamai": [
        answer(403, b"<h1>Access Denied</h1> Reference&#32;&#35;18&#46;2d351ab8", server="AkamaiGHost"),
        answer(403, b"<H1>Access Denied</H1> https://errors.edgesuite.net/18.2d351ab8"),
    ],
    "DataDome": [
        answer(403, b"", x_datadome="protected"),
        answer(403, b"<script src='https://ct.captcha-delivery.com/c.js'></script>"),
        answer(429, b"", set_cookie="datadome=abc; Path=/"),
    ],
    "HUMAN (PerimeterX)": [answer(403, b"<div id='px-captcha'></div>")],
    "Imperva": [
        answer(200, b"Request unsuccessful. Incapsula incident ID: 1-2"),
        answer(403, b"", set_cookie="visid_incap_1=x"),
    ],
    "Sucuri": [answer(403, b"", x_sucuri_block="1"), answer(403, b"Sucuri WebSite Firewall - Access Denied")],
    "F5": [
        answer(200, b"The requested URL was rejected. Please consult with your administrator. Your support ID is: 1")
    ],
    "Kasada": [answer(429, b"", x_kpsdk_ct="x"), answer(429, b"<script>window.KPSDK={}</script>")],
    "DDoS-Guard": [answer(403, b"<title>DDoS-Guard</title> ddos-guard", server="ddos-guard")],
    "Google": [answer(429, b"Our systems have detected unusual traffic from your computer network.")],
    "the site": [answer(200, CAPTCHA), answer(403, CAPTCHA)],
}


@pytest.mark.parametrize(("vendor", "page"), [(vendor, page) for vendor, pages in BLOCKS.items() for page in pages])
def test_a_block_page_is_recognized(vendor: str, page: Exchange) -> None:
    block = find_block(page)
    assert block is not None and block.vendor == vendor
    assert block.words.startswith(f"blocked by {vendor} (status {page.status}")


def test_every_vendor_of_the_table_has_a_page_and_a_source() -> None:
    assert {mark.vendor for mark in MARKS} | {"the site"} == BLOCKS.keys()
    assert all(mark.source.startswith("https://") for mark in MARKS)


@pytest.mark.parametrize(
    "page",
    [
        answer(200, b"<title>Contact</title><form><div class='g-recaptcha'></div></form>", server="cloudflare"),
        answer(200, b"<title>How captchas work</title>" + b"about captcha " * 1000),
        answer(200, b"<p>Cloudflare, DataDome and px-captcha compared</p>", set_cookie="datadome=x"),
        answer(
            200,
            b"",
            content_security_policy="script-src https://www.google.com/recaptcha/ https://cdnjs.cloudflare.com",
        ),
        answer(403, b"<h1>Forbidden</h1> members only", server="cloudflare"),
        answer(404, b"not found", x_datadome="protected"),
        answer(503, b"down for maintenance", server="nginx"),
    ],
)
def test_a_page_of_the_site_is_none(page: Exchange) -> None:
    assert find_block(page) is None
