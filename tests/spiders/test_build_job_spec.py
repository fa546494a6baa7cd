"""From options to the job that they describe."""

from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.spiders.build_job_spec import JobDraft, cookie_lines, plain_headers
from shoal.spiders.input_sources import given_urls

HEADERS = ["X-Key: 1", "cookie: sid=oyster; theme=a=b;"]


def test_the_cookies_of_a_header_are_cookies_like_others() -> None:
    draft = JobDraft.of({"header": HEADERS, "cookie": ["sid=1"]}, None, allow_private=True)
    spec = draft.spec(given_urls(["http://a.example/"], draft.params, draft.group), None)
    assert spec.headers == {"X-Key": "1"} and spec.cookies == ("sid=1", "sid=oyster", "theme=a=b")


def test_without_a_jar_they_are_sent_as_given() -> None:
    options = {"header": HEADERS, "no_cookies": True}
    assert plain_headers(options) == {"X-Key": "1", "cookie": "sid=oyster; theme=a=b;"} and cookie_lines(options) == ()


@pytest.mark.parametrize("value", ["oyster", "=oyster", "a=1; oyster"])
def test_what_is_no_cookie_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE") as refused:
        cookie_lines({"header": [f"Cookie: {value}"]})
    assert "oyster" not in str(refused.value)
