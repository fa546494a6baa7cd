"""What pages ask of crawlers."""

import pytest

from shoal.extract.robots_directives import refresh_target, robots_of_header, robots_of_meta


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [
        ("", False, False),
        ("all", False, False),
        ("NoIndex", True, False),
        ("nofollow", False, True),
        ("index, nofollow", False, True),
        ("noindex,nofollow", True, True),
        ("none", True, True),
        ("max-snippet:-1, noindex", True, False),
        ("noindexing", False, False),
    ],
)
def test_meta_robots(content: str, noindex: bool, nofollow: bool) -> None:
    assert robots_of_meta(content) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("value", "noindex", "nofollow"),
    [
        ("", False, False),
        ("noindex, nofollow", True, True),
        ("shoal: noindex", True, False),
        ("Shoal: none", True, True),
        ("*: nofollow", False, True),
        ("otherbot: noindex, nofollow", False, False),
        ("otherbot: noindex, shoal: nofollow", False, True),
        ("otherbot: noindex\nnofollow", False, True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", True, False),
        ("max-snippet: 20, nofollow", False, True),
    ],
)
def test_robots_header_heeds_whom_it_addresses(value: str, noindex: bool, nofollow: bool) -> None:
    assert robots_of_header(value) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/new", "/new"),
        ("5; URL = /new ", "/new"),
        (" 0 , url='/a b' trailing", "/a b"),
        ('0; url="/unclosed', "/unclosed"),
        ("1.5;/bare", "/bare"),
        ("0 url=/x", "/x"),
        (".5; '/quoted'", "/quoted"),
        ("0; urls/of/mine", "urls/of/mine"),
        ("30", None),
        ("30;", None),
        ("30; url=", None),
        ("url=/x", None),
        ("5x; url=/x", None),
        ("", None),
    ],
)
def test_refresh_target(content: str, target: str | None) -> None:
    assert refresh_target(content) == target
