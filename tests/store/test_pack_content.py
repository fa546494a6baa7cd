"""A page's content as the store has it."""

from __future__ import annotations

from shoal.model import FoundContent, PageContent
from shoal.store.crawl.pack_content import pack, unpack


def test_found_content_is_read_as_it_was_found() -> None:
    found = FoundContent("Über uns", "de", "Guten\n Tag, 世界".encode(), ["a", "b?c"], {"markdown": "# Tag"})
    assert unpack(pack(found)) == PageContent("Über uns", "de", "Guten Tag, 世界", ["a", "b?c"], {"markdown": "# Tag"})
    assert unpack(pack(FoundContent(None, None, b"", [], {}))) == PageContent(None, None, "", [])


def test_a_text_that_was_cut_within_a_character_or_has_a_nul_is_read() -> None:
    found = FoundContent(None, None, "a\0b 世".encode()[:-1], [], {})
    assert unpack(pack(found)).text == "a\ufffdb \ufffd"


def test_content_from_elsewhere_may_have_nul_and_lone_surrogates() -> None:
    content = PageContent("a\0b", "d\ud800e", "t\0", ["x\0y", "z\udfff"], {"n": 1})
    assert unpack(pack(content)) == PageContent("a\ufffdb", "d\ufffde", "t\ufffd", ["x\ufffdy", "z\ufffd"], {"n": 1})
