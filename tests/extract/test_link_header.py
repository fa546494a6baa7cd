from __future__ import annotations

import pytest

from shoal.extract.link_header import linked_as


@pytest.mark.parametrize(
    ("header", "url"),
    [
        ('<https://a.example/x>; rel="canonical"', "https://a.example/x"),
        ("< /x,y;z >;rel=canonical", "/x,y;z"),
        ('</s.css>; rel=preload; as=style, </x>; title="a; rel=\\"b\\", c"; Rel="Self CANONICAL"', "/x"),
        ("</x>; rel=next\n</y>; rel=canonical; rel=next", "/y"),
        ('</x>; rel=canonical; anchor="#part"', None),
        ("</x>; rel=next; rel=canonical", None),
        ("</x>; rel", None),
        ("<>; rel=canonical", None),
        ("/x; rel=canonical", None),
        ("<" * 50_000, None),
        ('</x>; rel="' + ';"' * 50_000, None),
    ],
)
def test_the_canonical_url_in_a_header(header: str, url: str | None) -> None:
    assert linked_as("canonical", header) == url
