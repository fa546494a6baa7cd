from __future__ import annotations

import pytest

from shoal.fetch.query_encoding import queries_in


@pytest.mark.parametrize(
    ("codec", "href", "sent"),
    [
        ("cp1252", "/é?a=é&b=ü", "/é?a=%E9&b=%FC"),
        ("cp1252", "/é#?é", "/é#?é"),
        ("cp1252", "?q=é#é", "?q=%E9#é"),
        ("cp1251", "/поиск?q=привет мир", "/поиск?q=%EF%F0%E8%E2%E5%F2 %EC%E8%F0"),
        ("shift_jis", "?q=表示", "?q=%95%5C%8E%A6"),
        ("cp1252", "?q=é日ü", "?q=%E9%26%2326085%3B%FC"),
        ("utf-8", "?q=é", "?q=é"),
        ("utf-16-le", "?q=é", "?q=é"),
    ],
)
def test_a_query_is_sent_in_the_charset_of_its_page(codec: str, href: str, sent: str) -> None:
    assert queries_in(codec, [href, "/plain?q=%E9"]) == [sent, "/plain?q=%E9"]
