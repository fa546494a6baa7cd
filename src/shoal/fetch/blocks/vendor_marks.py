"""The marks of challenge and denial pages, by the vendor that makes them.

A mark counts only together with its status: many good pages mention these vendors. Each entry names its source.
"""

from __future__ import annotations

import re
from typing import NamedTuple

REFUSALS = frozenset({401, 403, 405, 406, 409, 429, 430, 503, 508})


class VendorMark(NamedTuple):
    vendor: str
    source: str
    """Where the mark is documented."""
    statuses: frozenset[int] = REFUSALS
    header: str = ""
    """The name of a header field."""
    value: str = ""
    """What the field must contain; empty: anything."""
    cookie: str = ""
    """How the name of a cookie starts that the answer sets."""
    body: bytes = b""
    """A regular expression, for the first part of the body. With `header` or `cookie`: both must be there."""
    words: bytes = b""
    """In lower case: what the body must contain for its pattern to match. The pattern alone would take 25 us of each
    small good page."""
    is_certain: bool = False
    """No page of a site has it. Other marks do not count on a page that leads to many others."""


_ANY = frozenset(range(200, 600))
_CLOUDFLARE = "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/"
_CLOUDFLARE_1XXX = "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/"
_AWS = "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html"
_CLOUDFRONT = "https://repost.aws/knowledge-center/cloudfront-troubleshoot-403-errors"
_WAFW00F = "https://github.com/EnableSecurity/wafw00f/tree/master/wafw00f/plugins"
_GOOGLE = "https://support.google.com/websearch/answer/86640"

MARKS = (
    VendorMark("Cloudflare", _CLOUDFLARE, _ANY, header="cf-mitigated", value="challenge", is_certain=True),
    VendorMark(
        "Cloudflare",
        _CLOUDFLARE,
        header="server",
        value="cloudflare",
        # Below scripts/jsd is a script that any page may have.
        body=rb"/cdn-cgi/challenge-platform/(?!scripts/jsd)|cf_chl_opt",
    ),
    VendorMark(
        "Cloudflare",
        _CLOUDFLARE_1XXX,
        header="server",
        value="cloudflare",
        body=rb"error code: 10\d\d|Access denied \| |Attention Required! \| Cloudflare",
    ),
    VendorMark("AWS WAF", _AWS, frozenset({202, 405, 403}), header="x-amzn-waf-action", is_certain=True),
    VendorMark(
        "AWS WAF",
        _CLOUDFRONT,
        header="server",
        value="CloudFront",
        body=rb"Request blocked\.|configured to block access from your country",
    ),
    VendorMark(
        "Akamai",
        f"{_WAFW00F}/kona.py",
        body=rb"errors\.edgesuite\.net|Reference(?:&#32;|\s)(?:&#35;|#)[0-9a-f]+(?:&#46;|\.)",
    ),
    VendorMark("Akamai", f"{_WAFW00F}/kona.py", header="server", value="AkamaiGHost", body=rb"Access Denied"),
    VendorMark("DataDome", f"{_WAFW00F}/datadome.py", header="x-datadome"),
    VendorMark("DataDome", f"{_WAFW00F}/datadome.py", body=rb"captcha-delivery\.com"),
    VendorMark("DataDome", f"{_WAFW00F}/datadome.py", cookie="datadome"),
    VendorMark(
        "HUMAN (PerimeterX)", f"{_WAFW00F}/perimeterx.py", body=rb"px-captcha|_pxAppId|perimeterx\.\w+/whywasiblocked"
    ),
    VendorMark(
        "Imperva",
        f"{_WAFW00F}/incapsula.py",
        _ANY,
        body=rb"Incapsula incident ID|_Incapsula_Resource[^>]{0,200}incident",
        words=b"incapsula",
    ),
    VendorMark("Imperva", f"{_WAFW00F}/incapsula.py", cookie="visid_incap_"),
    VendorMark("Sucuri", f"{_WAFW00F}/sucuri.py", header="x-sucuri-block", is_certain=True),
    VendorMark("Sucuri", f"{_WAFW00F}/sucuri.py", body=rb"Sucuri Website Firewall - Access Denied"),
    VendorMark(
        "F5",
        f"{_WAFW00F}/f5bigipasm.py",
        _ANY,
        body=rb"The requested URL was rejected\. Please consult with your administrator",
        words=b"the requested url was rejected",
    ),
    VendorMark("Kasada", f"{_WAFW00F}/kasada.py", header="x-kpsdk-ct"),
    VendorMark("Kasada", f"{_WAFW00F}/kasada.py", body=rb"KPSDK|ips\.js\?[^\"']*KP_"),
    VendorMark("DDoS-Guard", f"{_WAFW00F}/ddosguard.py", header="server", value="ddos-guard", body=rb"ddos-guard"),
    VendorMark("Google", _GOOGLE, body=rb"unusual traffic from your computer network"),
)

CAPTCHA = re.compile(
    rb"<[a-z][^<>]{0,500}?(?:g-recaptcha|h-captcha|cf-turnstile|px-captcha|captcha-delivery\.com|name=[\"']?captcha)",
    re.IGNORECASE,
)
"""A form that only people should pass. Many good pages have one, so a title must say so too."""
CAPTCHA_TITLE = re.compile(
    rb"<(?:title|h1)[^>]{0,200}>[^<]{0,200}?"
    rb"(?:captcha|(?:you|not) a robot|robot check|robot or human|are you (?:a )?human|"
    rb"human verification|verify you are|verification required|security check|"
    rb"just a moment|unusual (?:traffic|activity)|access (?:to this page has been )?denied|request blocked)",
    re.IGNORECASE,
)
