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
    "AWS WAF": [
        answer(202, b"", x_amzn_waf_action="challenge"),
        answer(405, b"", x_amzn_waf_action="captcha"),
        answer(403, b"<H1>403 ERROR</H1> Request blocked. We can't connect to the server", server="CloudFront"),
    ],
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
    "the site": [
        answer(200, CAPTCHA),
        answer(403, CAPTCHA),
        answer(200, b"<h1>Robot Check</h1><form><input name=captcha></form>"),
        answer(503, b"<title>Security Check</title><div class='h-captcha'></div>"),
    ],
}


@pytest.mark.parametrize(("vendor", "page"), [(vendor, page) for vendor, pages in BLOCKS.items() for page in pages])
def test_a_block_page_is_recognized(vendor: str, page: Exchange) -> None:
    block = find_block(page)
    assert block is not None and block.vendor == vendor
    assert block.words.startswith(f"blocked by {vendor} (status {page.status}")


def test_every_vendor_of_the_table_has_a_page_and_a_source() -> None:
    assert {mark.vendor for mark in MARKS} | {"the site"} == BLOCKS.keys()
    assert all(mark.source.startswith("https://") for mark in MARKS)


MENU = b"".join(b'<li><a href="/c%d">Category %d</a></li>' % (n, n) for n in range(25))
FORM = b"<form><input name=email><div class='g-recaptcha' data-sitekey=x></div></form>"
BEACON = b"<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"

ORDINARY = {
    "a contact form": answer(200, b"<title>Contact</title>" + FORM, server="cloudflare"),
    "an article on captchas": answer(200, b"<title>How captchas work</title>" + b"about captcha " * 1000),
    "how to add a captcha": answer(200, b"<title>How to add reCAPTCHA</title><pre>&lt;div class='g-recaptcha'></pre>"),
    "the same with a form": answer(200, b"<title>How to add reCAPTCHA</title>" + MENU + FORM),
    "a comparison of vendors": answer(200, b"<p>Cloudflare, DataDome, px-captcha</p>", set_cookie="datadome=x"),
    "a security policy": answer(200, content_security_policy="script-src https://www.google.com/recaptcha/"),
    "robots in a shop": answer(200, b"<title>Robot vacuum cleaners</title>" + FORM),
    "an airport": answer(200, b"<h1>Before the security check</h1>" + MENU + FORM, server="cloudflare"),
    "a song": answer(200, b"<title>Just a Moment, by Wye</title>" + MENU + FORM),
    "a film": answer(200, b"<title>Access denied: a review</title>" + MENU + FORM),
    "a play": answer(200, b"<title>Are you human?</title>" + MENU + b"<div class='cf-turnstile'></div>"),
    "a login page": answer(200, b"<title>Log in</title><input type=password><div class='h-captcha'></div>"),
    "an empty category": answer(200, b"<title>Garden</title><p>No products in this category</p>"),
    "a question on F5": answer(
        200, MENU + b"It says: The requested URL was rejected. Please consult with your administrator. Why?"
    ),
    "a question on Imperva": answer(200, MENU + b"It says: Request unsuccessful. Incapsula incident ID: 1-2"),
    "documentation of Cloudflare": answer(200, b"<h1>Error 1020</h1>error code: 1020", server="cloudflare"),
    "members only": answer(403, b"<h1>Forbidden</h1> members only", server="cloudflare"),
    "members only, with a script of Cloudflare": answer(403, b"<h1>Members only</h1>" + BEACON, server="cloudflare"),
    "members only, behind DataDome": answer(403, b"<h1>Members only</h1>" + MENU, set_cookie="datadome=x"),
    "members only, behind Imperva": answer(403, b"<h1>Members only</h1>" + MENU, set_cookie="visid_incap_1=x"),
    "members only, behind HUMAN": answer(403, MENU + b"<script>window._pxAppId='PX1'</script>"),
    "log in first": answer(401, b"<h1>Log in first</h1>" + MENU, x_datadome="protected"),
    "a page that is gone": answer(404, b"not found", x_datadome="protected"),
    "a page that never was": answer(404, b"Reference #18.2d351ab8.1", server="AkamaiGHost"),
    "a bucket without permission": answer(403, b"<Code>AccessDenied</Code>", server="CloudFront"),
    "maintenance": answer(503, b"down for maintenance", server="nginx"),
    "maintenance behind Cloudflare": answer(503, b"<title>Back soon</title>", server="cloudflare"),
    "too many calls": answer(429, b'{"error": "too many requests"}', server="nginx"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_a_page_of_the_site_is_none(name: str) -> None:
    assert find_block(ORDINARY[name]) is None
