"""Recognizes an answer that is no page of the site: a challenge, a denial or a captcha. Nothing here solves one."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from shoal.fetch.blocks.vendor_marks import CAPTCHA, CAPTCHA_TITLE, MARKS, VendorMark
from shoal.fetch.exchange import Exchange

READ_BYTES = 32_768
"""Such pages say what they are at the beginning."""
SOFT_BYTES = 10_000
"""A larger page that answers 200 is taken for the site's own: every page is looked at, and these marks take long."""
MOST_LINKS = 15
"""A page that leads to more others is the site's own. It may quote a block page, or have a form with a captcha."""
_LINK = re.compile(rb"<a\s", re.IGNORECASE)
_ALWAYS = tuple(mark for mark in MARKS if 200 in mark.statuses)
NEXT_STEP = "slow down with --rate, ask the site for access or an API, or leave it out; Shoal solves no challenge"


class Block(NamedTuple):
    vendor: str
    """Who blocks; `the site` if no vendor is known."""
    mark: str
    """How it was recognized."""
    next_step: str = NEXT_STEP
    """What an operator may do."""

    @property
    def words(self) -> str:
        return f"blocked by {self.vendor} ({self.mark})"


def find_block(answer: Exchange) -> Block | None:
    """None for an answer that is taken for the site's own."""
    is_good = answer.status == 200
    begins = b"" if is_good and len(answer.body) > SOFT_BYTES else answer.body[:READ_BYTES]
    lowered = begins.lower()
    for mark in _ALWAYS if is_good else MARKS:
        if (
            answer.status not in mark.statuses
            or mark.words not in lowered
            or (how := _found(mark, answer, begins)) is None
        ):
            continue
        if mark.is_certain or not _leads_on(begins):
            return Block(mark.vendor, f"status {answer.status}, {how}")
    return _captcha(answer, begins)


def _captcha(answer: Exchange, begins: bytes) -> Block | None:
    if b"aptcha" not in begins and b"turnstile" not in begins:
        return None
    found, title = CAPTCHA.search(begins), CAPTCHA_TITLE.search(begins)
    is_block = found and title and not _leads_on(begins)
    return Block("the site", f"status {answer.status}, a captcha instead of the page") if is_block else None


def _leads_on(begins: bytes) -> bool:
    return len(_LINK.findall(begins)) > MOST_LINKS


def _found(mark: VendorMark, answer: Exchange, begins: bytes) -> str | None:
    """How the mark is seen in the answer."""
    how = []
    if mark.header:
        if mark.header not in answer.headers or mark.value.lower() not in answer.headers.get(mark.header).lower():
            return None
        how.append(f"header {mark.header}")
    if mark.cookie:
        if not any(cookie.startswith(mark.cookie) for cookie in answer.headers.get_all("set-cookie")):
            return None
        how.append(f"cookie {mark.cookie}")
    if mark.body:
        if (found := _pattern(mark.body).search(begins)) is None:
            return None
        how.append(f"“{found[0].decode('latin-1')[:60]}” in the page")
    return ", ".join(how)


@cache
def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.IGNORECASE)
