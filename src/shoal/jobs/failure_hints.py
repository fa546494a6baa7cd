"""What to do about each kind of failure."""

from __future__ import annotations

HINTS = {
    "dns": "the name does not resolve: check its spelling, or your network",
    "connect": "no server accepts the connection: is it up, does a firewall block it?",
    "unreachable": "the host did not answer for 15 s: is it up, and reachable from here?",
    "tls": "the TLS connection failed: its version or ciphers may be too old",
    "certificate": "not retried; --ca-file trusts another authority, --insecure any certificate",
    "client_certificate": "only clients with a certificate get in, and Shoal has none: not retried",
    "plain_http": "the port speaks plain http: write http://; no scheme means https://",
    "timeout": "no complete response in time: the host may be overloaded; try a lower --rate",
    "too_large": "over --max-page-bytes (LIMIT, 4 times that unpacked), or 300 kB of headers",
    "protocol": "the connection broke, or the response was not valid HTTP",
    "proxy": "the proxies failed or refused: see `shoal proxies`, and check --proxy",
    "region": "no proxy of the job is in the region that the request asks for",
    "blocked": "a challenge or denial page: lower --rate, or ask for access; none is solved",
    "undecodable": "the body could not be decompressed",
    "format_missing": "one of --formats failed on the page: the page is kept without it",
    "broken_coding": "its compression is broken: the part that could be unpacked is kept",
    "render": "the page crashed, or did more than a page may: not retried",
    "not_rendered": "kept as it is, because no browser starts; see `shoal health --browser`",
    "step": "a step failed, which `shoal dead` names: check its selector and its timeout",
    "no_playwright": "it needs Playwright: pip install 'shoal[playwright]'; then `RETRY`",
    "unfinished": "scripts were still at work when --timeout ended: what was there is kept",
    "cookie_deleted": "the session may have ended: check the pages, and log in again",
    "cookie_replaced": "the host's new cookie is sent; pages may be those of another session",
    "redirect_loop": "its redirects form a loop; it may need a cookie or login",
    "too_many_redirects": "more than 20 redirects in a row",
    "callback": "the spider failed on this page: fix it, then `RETRY`",
    "sitemap": "the sitemap or feed has errors; the entries that could be read were used",
    "poison": "parsing this page crashes the process; it is kept for review",
    "unreadable": "the page could not be parsed; --verbose logs why",
    "http 304": "the host answered 304 to an unconditional request: `RETRY` later",
    "http 429": "the host asks for fewer requests: lower --rate; its waits are obeyed",
    "http 503": "the host is overloaded or refuses crawlers: lower --rate, or try later",
    "http 500": "the server fails on this page: `RETRY` later",
    "http 403": "the host refuses crawlers, or needs a login: see --header and --cookie",
}


def failure_name(kind: str, status: int | None) -> str:
    return str(status) if kind == "http" and status else kind


def hint(kind: str, status: int | None, retry: str, max_page_size: str) -> str | None:
    """What to do about the failure; `retry` is the command that retries it, and the size is the job's limit."""
    server_error = HINTS.get("http 500") if kind == "http" and (status or 0) >= 500 else None
    text = HINTS.get(f"{kind} {status}") or HINTS.get(kind) or server_error
    return None if text is None else text.replace("RETRY", retry).replace("LIMIT", max_page_size)
