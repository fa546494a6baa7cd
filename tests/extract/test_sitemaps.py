"""Sitemaps of every form, whole and broken."""

import gzip
import tracemalloc
from collections.abc import Iterator
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.sitemap_xml import MAX_BASE, MAX_TOKEN_BYTES, SitemapEntry
from shoal.extract.sitemaps import MAX_BYTES, MAX_ENTRIES, Sitemap, sitemap_kind
from tests.extract.reading_sitemaps import byte_by_byte, read_all

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset {NS} xmlns:image="i" xmlns:xhtml="h">
  <url><loc>
    http://a.example/1?x=1&amp;y=2 </loc><lastmod>2024-05-01</lastmod>
    <image:image><image:loc>http://a.example/picture.png</image:loc></image:image>
    <xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/></url>
  <url><priority>1.0</priority></url>
  <url><loc><![CDATA[http://a.example/2]]></loc></url>
</urlset>"""
URLSET_ENTRIES = [
    SitemapEntry("http://a.example/1?x=1&y=2", "url", "2024-05-01"),
    SitemapEntry("http://a.example/2", "url", None),
]
INDEX = f"""<sm:sitemapindex {NS.replace("xmlns", "xmlns:sm")}><sm:sitemap><sm:loc>http://a.example/s.xml</sm:loc>
<sm:lastmod>2024</sm:lastmod></sm:sitemap></sm:sitemapindex>"""
INDEX_ENTRIES = [SitemapEntry("http://a.example/s.xml", "sitemap", "2024")]
RSS = """<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//N//DTD RSS 0.91//EN" "http://127.0.0.1:1/rss.dtd">
<rss version="2.0" xmlns:atom="a"><channel><link>http://a.example/</link><atom:link rel="self" href="/feed"/>
<item><title>T</title><link>http://a.example/post</link><pubDate>Wed, 01 May 2024 00:00:00 GMT</pubDate></item>
</channel></rss>"""
RSS_ENTRIES = [SitemapEntry("http://a.example/post", "url", "Wed, 01 May 2024 00:00:00 GMT")]
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/><entry>
<link rel="edit" href="http://a.example/edit"/><link href="http://a.example/post"/>
<link rel="alternate" href="http://a.example/other"/><updated>2024-05-01</updated></entry></feed>"""
JSON_FEED = r"""{"version": "https:\/\/jsonfeed.org\/version\/1.1", "items": [
{"id": "1", "url": "http://a.example/post", "date_published": "2024-05-01"}, {"id": "2"}, 3,
{"id": "http://a.example/2"}, {"id": "3", "external_url": "http://b.example/"}]}"""
JSON_FEED_ENTRIES = [
    SitemapEntry("http://a.example/post", "url", "2024-05-01"),
    SitemapEntry("http://a.example/2", "url", None),
    SitemapEntry("http://b.example/", "url", None),
]
ATOM_ENTRIES = [SitemapEntry("http://a.example/post", "url", "2024-05-01")]
LIST = "\ufeff# of our shop\nhttp://a.example/1\r\n\r\n  HTTPS://a.example/2 # a comment\n#http://a.example/off\nhttp://a.example/3"
LIST_ENTRIES = [
    SitemapEntry(f"{u}.example/{n}", "url", None) for u, n in (("http://a", 1), ("HTTPS://a", 2), ("http://a", 3))
]

FORMS = pytest.mark.parametrize(
    ("text", "entries"),
    [
        (URLSET, URLSET_ENTRIES),
        (INDEX, INDEX_ENTRIES),
        (RSS, RSS_ENTRIES),
        (ATOM, ATOM_ENTRIES),
        (JSON_FEED, JSON_FEED_ENTRIES),
        (LIST, LIST_ENTRIES),
    ],
    ids=["urlset", "index", "rss", "atom", "json feed", "list"],
)


def fault_of(body: bytes) -> str:
    fault = read_all(body)[1]
    assert fault
    return fault


@FORMS
def test_every_form_is_read(text: str, entries: list[SitemapEntry]) -> None:
    body = text.encode()
    assert read_all(body) == (entries, None)
    assert read_all(gzip.compress(body)) == (entries, None)
    assert read_all(b"\r\n " + body) == (entries, None)


@FORMS
def test_chunks_may_end_anywhere(text: str, entries: list[SitemapEntry]) -> None:
    assert read_all(byte_by_byte(text.encode())) == (entries, None)
    assert read_all(byte_by_byte(gzip.compress(text.encode()))) == (entries, None)


@FORMS
def test_every_form_is_recognised(text: str, entries: list[SitemapEntry]) -> None:
    assert sitemap_kind("text/plain; charset=utf-8", text.encode())
    assert sitemap_kind("application/octet-stream", gzip.compress(text.encode()))


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252", "iso-8859-1", "gb18030"])
def test_other_encodings_are_read(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><urlset><url><loc>http://a.example/é</loc></url></urlset>'
    assert read_all(text.encode(encoding)) == ([SitemapEntry("http://a.example/é", "url", None)], None)


def test_gzip_members_follow_each_other_and_padding_is_ignored() -> None:
    body = gzip.compress(URLSET[:50].encode()) + gzip.compress(URLSET[50:].encode()) + b"\0" * 512
    assert read_all(body) == (URLSET_ENTRIES, None)
    assert read_all(byte_by_byte(body)) == (URLSET_ENTRIES, None)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<!doctype html><html><body>sitemap"),
        ("application/xml", b"<?xml version='1.0'?><html xmlns='x'><urlset>"),
        ("application/xml", b"<urlsets>"),
        ("text/html", b"http://a.example/1\n"),
        ("text/plain", b"User-agent: *\nSitemap: http://a.example/s.xml"),
        ("text/plain", b"http://a.example/1 and some words\n"),
        ("text/plain", b""),
        ("application/gzip", gzip.compress(b"binary", mtime=0)),
        ("application/gzip", b"\x1f\x8bnot really"),
        ("image/png", b"\x89PNG"),
    ],
)
def test_other_pages_are_not_taken_for_sitemaps(content_type: str, body: bytes) -> None:
    assert sitemap_kind(content_type, body) is None


def test_the_kind_is_told_by_the_content() -> None:
    kinds = {URLSET: "sitemap", INDEX: "sitemap", RSS: "feed", ATOM: "feed", JSON_FEED: "feed", LIST: "list"}
    assert {text: sitemap_kind("text/plain", text.encode()) for text in kinds} == kinds
    assert sitemap_kind("text/html", RSS.encode()) == "feed"
    assert sitemap_kind("text/xml", ATOM.encode("utf-16")) == "feed"
    assert sitemap_kind("application/json", b'{"version": "1.1", "items": []}') is None


def test_a_long_list_is_recognised_by_its_beginning() -> None:
    assert sitemap_kind("text/plain", b"http://a.example/some/path\n" * 10_000)


BROKEN = URLSET.replace("</urlset>", "<url><loc>http://a.example/<3</loc></url>").encode()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (BROKEN, "not well-formed"),
        (URLSET[:-3].encode(), "not well-formed"),
        (URLSET.encode() + b"<more/>", "not well-formed"),
        (gzip.compress(URLSET.encode(), mtime=0)[:-4], "ends too early"),
        (URLSET.encode().replace(b"</urlset>", b"<a>" * 200), "nested more than"),
    ],
    ids=["markup", "cut off", "junk", "gzip cut off", "deep"],
)
def test_entries_before_a_fault_are_given(body: bytes, fault: str) -> None:
    entries, found_fault = read_all(body)
    assert entries == URLSET_ENTRIES
    assert fault in (found_fault or "")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "neither XML nor a list"),
        (b"Not found", "neither XML nor a list"),
        (b"\0" * 1_000, "neither XML nor a list"),
        (b"<!DOCTYPE html><html>", "root element is <html>"),
        (b"\x1f\x8bnot really", "not a gzip file"),
        (b"<?xml version='1.0' encoding='hex'?><urlset/>", "encoding"),
        (b'{"items": 1}', "not a JSON Feed"),
        (b'{"items": [', "not a JSON Feed"),
        (b"<?xml version='1.0' encoding='no-such'?><urlset/>", "encoding"),
        (b"http://a.example/" + b"x" * 200_000, "line of more than"),
        (b"<urlset><url a='" + b"x" * (2 * MAX_TOKEN_BYTES), "tag or comment of more than"),
        (b"<urlset><!--" + b"x" * (2 * MAX_TOKEN_BYTES), "tag or comment of more than"),
    ],
)
def test_what_is_no_sitemap_has_a_fault_and_no_entries(body: bytes, fault: str) -> None:
    entries, found_fault = read_all(body)
    assert entries == []
    assert fault in (found_fault or "")


def test_lines_of_a_list_that_are_no_urls_are_skipped() -> None:
    assert read_all(b"http://a.example/\n# not a URL\n") == ([SitemapEntry("http://a.example/", "url", None)], None)


LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(10))
DECLARATIONS = [
    f'<!ENTITY l0 "ha">{LAUGHS}',
    '<!ENTITY x SYSTEM "file:///etc/hosts">',
    '<!ENTITY % p SYSTEM "http://127.0.0.1:1/"> %p;',
    '<!-- "> ]> --><!ELEMENT urlset ANY><!ENTITY y "]>">',
    '<?target " ]> ?><!-- it\'s --><!ENTITY y "y">',
    '<!ENTITY y "y">' * 5_000,
]


@pytest.mark.parametrize("declared", DECLARATIONS)
def test_a_file_that_declares_entities_keeps_its_urls_and_no_entity_is_read(declared: str) -> None:
    urls = "<url><loc>http://a.example/1</loc></url><url><loc>http://a.example/&l10;&x;&y;</loc></url>"
    body = f"<?xml version='1.0'?><!DOCTYPE urlset [{declared}]>\n<urlset>{urls}</urlset>".encode()
    expected = [
        SitemapEntry("http://a.example/1", "url", None),
        SitemapEntry("http://a.example/&l10;&x;&y;", "url", None),
    ]
    assert read_all(body) == (expected, None)
    assert sitemap_kind("application/xml", body) == "sitemap"
    if len(body) < 10_000:
        assert read_all(byte_by_byte(body)) == (expected, None)


def test_entities_in_utf_16_are_not_read_either() -> None:
    text = '<!DOCTYPE urlset [<!ENTITY x "y">]><urlset><url><loc>http://a.example/&x;</loc></url></urlset>'
    assert read_all(text.encode("utf-16")) == ([SitemapEntry("http://a.example/&x;", "url", None)], None)


@pytest.mark.parametrize(
    "before",
    [
        "<!doctype urlset>",
        "<?xml version='1.0'?>\n<?xml version='1.0'?>",
        "<br />\n<b>Warning</b>: date() in x.php<br />\n<?xml version='1.0'?>",
        f"<!-- {'our terms ' * 1_000} -->",
    ],
)
def test_what_precedes_the_root_element_costs_no_entry(before: str) -> None:
    body = f"{before}<urlset><url><loc>http://a.example/1</loc></url></urlset>".encode()
    assert read_all(body) == ([SitemapEntry("http://a.example/1", "url", None)], None)
    assert sitemap_kind("application/xml", body) == (None if "Warning" in before else "sitemap")


def test_a_page_has_no_entries_even_if_it_shows_a_sitemap() -> None:
    entries, fault = read_all(b"<html><pre><urlset><url><loc>http://a.example/1</loc></url></urlset>")
    assert entries == [] and "root element is <html>" in (fault or "")


def test_the_base_of_a_feed_and_of_its_entries_counts() -> None:
    entry = '<entry xml:base="{}"><link href="{}"/></entry>'
    entries = entry.format("2024/", "a") + entry.format("", "/b") + entry.format("http://[", "c")
    feed = f'<feed xml:base="http://a.example/blog/">{entries}<entry><link href="../d"/></entry></feed>'
    urls = [entry.url for entry in read_all(feed.encode())[0]]
    assert urls == ["http://a.example/blog/2024/a", "http://a.example/b", "c", "http://a.example/d"]


def test_the_base_of_an_element_counts_in_it_only() -> None:
    author = '<author xml:base="http://other.example/"><name>Ann</name></author>'
    feed = f'<feed xml:base="http://a.example/blog/">{author}<entry><link href="a"/></entry></feed>'
    assert [entry.url for entry in read_all(feed.encode())[0]] == ["http://a.example/blog/a"]


def test_a_base_that_would_multiply_the_size_of_a_feed_does_not_count() -> None:
    long = "http://a.example/" + "b/" * MAX_BASE
    deep = '<a xml:base="b/">' * 10 + f'<a xml:base="{"c/" * MAX_BASE}"><entry><link href="d"/></entry>'
    feed = f'<feed xml:base="{long}"><entry><link href="a"/></entry>{deep}</feed>'
    assert [entry.url for entry in read_all(feed.encode())[0]] == ["a", "b/" * 10 + "d"]


def test_the_base_of_a_feed_counts_behind_an_error() -> None:
    feed = '<feed xml:base="http://a.example/b/"><entry><link href="a"/></entry><x y=1/><entry><link href="c"/></entry>'
    assert [entry.url for entry in read_all(feed.encode())[0]] == ["http://a.example/b/a", "http://a.example/b/c"]


def test_an_item_of_rss_with_only_a_guid_is_a_link() -> None:
    items = (
        "<item><guid>http://a.example/1</guid></item><item><guid isPermaLink='false'>http://a.example/2</guid></item>"
        "<item><guid>tag:a.example,2026:3</guid></item>"
        "<item><guid>http://a.example/id</guid><link>http://a.example/4</link></item>"
    )
    entries, fault = read_all(f"<rss><channel>{items}</channel></rss>".encode())
    assert [entry.url for entry in entries] == ["http://a.example/1", "http://a.example/4"] and fault is None


def test_a_bomb_is_read_up_to_the_cap() -> None:
    start = gzip.compress(URLSET.encode().removesuffix(b"</urlset>"))
    spaces = gzip.compress(b" " * (MAX_BYTES // 20))
    entries, fault = read_all(start + spaces * 20)
    assert entries == URLSET_ENTRIES
    assert fault == "more than 200,000,000 bytes"


def test_entries_beyond_the_cap_are_left_out() -> None:
    thousandth = b"http://a.example/\n" * (MAX_ENTRIES // 1_000)
    faults = []

    def chunks() -> Iterator[bytes]:
        for _ in range(1_000):
            yield thousandth
        faults.append(sitemap.fault)
        yield thousandth

    sitemap = Sitemap(chunks())
    assert sum(1 for _ in sitemap) == MAX_ENTRIES
    assert [*faults, sitemap.fault] == [None, "more than 1,000,000 entries"]


def test_memory_does_not_grow_with_the_number_of_entries() -> None:
    record = b"<url><loc>http://a.example/%d</loc></url>"

    def chunks() -> Iterator[bytes]:
        yield b"<urlset>"
        for start in range(0, 100_000, 500):
            yield b"".join(record % n for n in range(start, start + 500))
        yield b"</urlset>"

    tracemalloc.start()
    try:
        sitemap = Sitemap(chunks())
        assert sum(1 for _ in sitemap) == 100_000
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sitemap.fault is None
    assert peak_bytes < 1_000_000


URLS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="\ufffd"), min_size=1
).map("http://a/".__add__)


@given(st.lists(st.tuples(URLS, st.sampled_from([None, "2024-01-01"]))), st.integers(1, 200))
def test_a_generated_urlset_comes_back(records: list[tuple[str, str | None]], chunk_bytes: int) -> None:
    written = (
        f"<url><loc>{escape(url)}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</url>"
        for url, lastmod in records
    )
    body = f"<urlset {NS}>{''.join(written)}</urlset>".encode()
    chunks = (body[n : n + chunk_bytes] for n in range(0, len(body), chunk_bytes))
    assert read_all(chunks) == ([SitemapEntry(url, "url", lastmod) for url, lastmod in records], None)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b", b"<urlset>", b"<?xml", b"http://a/\n"]))
def test_arbitrary_bytes_end_in_entries_or_a_fault(body: bytes, prefix: bytes) -> None:
    read_all(prefix + body)
    sitemap_kind("text/plain", prefix + body)
