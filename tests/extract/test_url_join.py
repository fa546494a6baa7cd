"""Links become what the parser of URLs makes of them, whether it is asked or not."""

from __future__ import annotations

import pytest
from ada_url import join_url
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.url_join import easily_joined, join, joined

BASES = (
    *("https://x.test/a/b?c#d", "http://X.test:80", "http://x.test?q=/y/", "https://u:p@x.test:8443/", "http:x.test/a"),
    *("HTTPS:\\\\x.test\\a", "http://b\xfccher.test/a/", "file:///tmp/a"),
)
links = st.one_of(
    st.text("/ab.~_-%?#: ", max_size=12), st.sampled_from(["/a/b", "/a/../b", "/.a", "/a.html", "//y.test/"])
)


@given(st.sampled_from(BASES), links)
def test_a_link_is_joined_as_the_parser_does(base_url: str, link: str) -> None:
    try:
        expected = join_url(base_url, link)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            join(base_url, link)
    else:
        assert join(base_url, link) == expected


@given(st.sampled_from(BASES), st.lists(links, max_size=4))
def test_many_links_are_joined_like_each(base_url: str, spelt: list[str]) -> None:
    expected = []
    for link in spelt:
        try:
            expected.append(join_url(base_url, link))
        except ValueError:
            continue
    assert joined(base_url, spelt) == expected


def test_only_plain_paths_are_easy() -> None:
    assert easily_joined("https://x.test/a", ["/b", "/c/d.html"]) == ["https://x.test/b", "https://x.test/c/d.html"]
    with pytest.raises(ValueError, match="not all"):
        easily_joined("https://x.test/a", ["/b", "c"])
