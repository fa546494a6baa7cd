"""What sites write wrong in a sitemap or feed costs as little as can be."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.sitemap_xml import MAX_VALUE, SitemapEntry
from shoal.extract.sitemap_xml_repair import repaired_xml
from shoal.urls.canonical import MAX_CHARS
from tests.extract.reading_sitemaps import byte_by_byte, read_all

LOC = "<url><loc>http://a.example/%s</loc></url>"
ONE_LOST = {
    "a bad byte in a URL": b"<url><loc>http://a.example/\xe9</loc></url>",
    "a tag that is not closed": b"<url><loc>http://a.example/lost</url>",
    "a tag that is not one": b"<url><loc>http://a.example/<3</loc></url>",
    "an attribute without quotes": b"<url><loc lang=en>http://a.example/lost</loc></url>",
    "a stray end tag": b"</loc>" + (LOC % "lost").encode(),
}


@pytest.mark.parametrize("bad", ONE_LOST.values(), ids=ONE_LOST)
@pytest.mark.parametrize("opening", ["<urlset>", "<rss><channel>"])
def test_a_fault_in_one_entry_costs_no_other(bad: bytes, opening: str) -> None:
    closing = "".join(f"</{name}" for name in reversed(opening.split("<")[1:]))
    start, end = f"{opening}{LOC % 1}".encode(), f"{LOC % 2}{LOC % 3}{closing}".encode()
    entries = [SitemapEntry(f"http://a.example/{n}", "url", None) for n in (1, 2, 3)]
    body = start + bad + end
    for pieces in (body, byte_by_byte(body)):
        found, fault = read_all(pieces)
        assert [entry for entry in found if "lost" not in entry.url] == entries
        assert fault


def test_a_bad_byte_outside_of_urls_costs_nothing() -> None:
    body = b"<rss><item><title>caf\xe9</title><link>http://a.example/1</link></item></rss>"
    assert read_all(body) == ([SitemapEntry("http://a.example/1", "url", None)], None)


def test_a_record_whose_end_tag_is_missing_ends_at_the_next() -> None:
    body = f"<urlset>{LOC % 1}{(LOC % 2).removesuffix('</url>')}{LOC % 3}{LOC % 4}</urlset>".encode()
    entries, fault = read_all(body)
    assert [entry.url[-1] for entry in entries] == ["1", "2", "3", "4"]
    assert "mismatched tag" in (fault or "")
    nested = f"<urlset><url><loc>http://a.example/1</loc>{LOC % 2}</url>{LOC % 3}</urlset>".encode()
    assert [entry.url[-1] for entry in read_all(nested)[0]] == ["1", "2", "3"]


def test_a_document_of_nothing_but_faults_is_given_up() -> None:
    entries, fault = read_all(b"<urlset>" + b"<url><" * 100_000 + (LOC % 1).encode() + b"</urlset>")
    assert entries == [] and "not well-formed" in (fault or "")


MENDED = {
    "a?x=1&y=2": "a?x=1&y=2",
    "a?x=1&amp;y=2&#38;z": "a?x=1&y=2&z",
    "a?x&&y;&;&#;&#x;z&": "a?x&&y;&;&#;z&",
    "a?copy=1&copy=2&unheard;": "a?copy=1&copy=2&unheard;",
    "caf&eacute;": "café",
    "&fjord;&fjlig;": "&fjord;fj",
    "a\x0bb\0c\x1f": "abc",
    "a&#11;b&#0;c&#xD800;d&#x110000;e&#99999999999999999999;": "abcde",
    "&#x41;&#65;&#x0x41;&#1_1;&a_b;": "AAA&#1_1;&a_b;",
    "<![CDATA[a?x&y&nbsp;]]>&z": "a?x&y&nbsp;&z",
    "<![CDATA[a]]>&amp;<![CDATA[&amp;]]b]]>": "a&&amp;]]b",
    "a <!-- & -->b": "a b",
}


@pytest.mark.parametrize("written", MENDED)
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_what_sites_write_wrong_in_a_url_is_mended(written: str, encoding: str) -> None:
    opening = f'<?xml version="1.0" encoding="{encoding}"?><urlset>'
    text = (
        f"{opening}<url><loc>http://a.example/{written}</loc></url><url><loc>http://a.example/next</loc></url></urlset>"
    )
    urls = [f"http://a.example/{MENDED[written]}", "http://a.example/next"]
    entries = [SitemapEntry(url, "url", None) for url in urls]
    assert read_all(text.encode(encoding)) == (entries, None)
    assert read_all(byte_by_byte(text.encode(encoding))) == (entries, None)


def test_what_is_wrong_in_an_attribute_is_mended() -> None:
    atom = b'<feed><entry><link href="http://a.example/?x&y"/></entry></feed>'
    assert read_all(atom) == ([SitemapEntry("http://a.example/?x&y", "url", None)], None)


def test_a_value_that_is_too_long_harms_no_other() -> None:
    long = "x" * 3_000_000
    records = (
        f"<url><loc>http://a.example/{long}</loc></url><url><lastmod>{long}</lastmod><loc>http://a.example/</loc></url>"
    )
    cut, dated, *rest = read_all(f"<urlset>{records}</urlset>".encode())[0]
    assert len(cut.url) == MAX_VALUE > MAX_CHARS
    assert (dated.url, len(dated.lastmod or ""), rest) == ("http://a.example/", MAX_VALUE, [])


@given(st.binary(max_size=200), st.lists(st.integers(1, 199), max_size=5))
def test_where_pieces_end_makes_no_difference(noise: bytes, ends: list[int]) -> None:
    text = b"&<![CDATA[" + noise + b"]]>&amp" + noise
    cuts = sorted({0, *(end for end in ends if end < len(text)), len(text)})
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    assert b"".join(repaired_xml(pieces)) == b"".join(repaired_xml([text]))
