from __future__ import annotations

import pytest

from shoal.wording import one_line, plural


@pytest.mark.parametrize(
    ("n", "noun", "text"),
    [
        (0, "page", "0 pages"),
        (1, "page", "1 page"),
        (2000, "page", "2,000 pages"),
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (2, "proxy", "2 proxies"),
        (2, "day", "2 days"),
        (3, "dead letter", "3 dead letters"),
    ],
)
def test_a_noun_agrees_with_its_number(n: int, noun: str, text: str) -> None:
    assert plural(n, noun) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("ValueError: two\n   lines\r\n", "ValueError: two lines "),
        ("a\tb\u2028c", "a b c"),
        ("\x1b[2Jgone\x00", r"\x1b[2Jgone\x00"),
    ],
)
def test_text_from_elsewhere_is_one_harmless_line(text: str, shown: str) -> None:
    assert one_line(text) == shown
