"""What selectors give, and how bad ones are refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.document import Document
from shoal.extract.extract_errors import BadSelector
from shoal.extract.selectors import MAX_CHARS, css, narrowed, regex, xpath

PAGE = Document(
    b"""<html lang=en><body><div id=a class=x>
    <p>one <b>b</b>two<p>three<br>four <b>$<i>12</i>.99</b></div><script>hidden</script>
    <a TITLE=' x ' href>z</a><a href=/q>zz</a><a>none</a><table><tr><td>1<td>2</table>""",
    "http://x.test/",
)


@pytest.mark.parametrize(
    ("selector", "given_texts"),
    [
        ("p", ["one btwo", "three four $12.99"]),
        ("div", ["one btwo three four $12.99"]),
        ("p::text", ["one two", "threefour"]),
        ("div ::text", ["one", "b", "two", "three", "four", "$", "12", ".99"]),
        ("div, p, b ::text", ["one", "b", "two", "three", "four", "$", "12", ".99"]),
        ("td::text, i::text", ["12", "1", "2"]),
        ("td ::text, b ::text", ["b", "$", "12", ".99", "1", "2"]),
        (":is(i, td) ::text", ["12", "1", "2"]),
        ("p > ::text", ["b", "", "$.99"]),
        ("::text", ["one", "b", "two", "three", "four", "$", "12", ".99", "hidden", "z", "zz", "none", "1", "2"]),
        (".nothing ::text", []),
        ("body ::attr(href)", ["", "/q"]),
        ("a ::attr('href')", ["", "/q"]),
        ("::attr( ID )", ["a"]),
        ("[id='a, b']::attr(id), [class]::attr(id)", ["a"]),
        ("a::attr(href)", ["", "/q"]),
        ("a::attr( Title )", [" x "]),
        ("i::html", ["<i>12</i>"]),
        ("p:nth-of-type(2), #a p", ["one btwo", "three four $12.99"]),
        ("td:has(+ td)", ["1"]),
        (".nothing", []),
    ],
)
def test_css(selector: str, given_texts: list[str]) -> None:
    assert css(selector).select(PAGE) == given_texts
    assert css(selector).first(PAGE) == (given_texts[0] if given_texts else None)


def test_texts_alone_are_of_the_element_that_they_are_taken_from() -> None:
    paragraph = PAGE.css("p")[0]
    assert css("::text").select(paragraph) == ["one", "b", "two"]
    assert css("::attr(class)").select(PAGE.css("div")[0]) == ["x"]


def test_elements_within_each_other_are_read_once() -> None:
    page = Document(b"<div>" * 400 + b"x", "http://x.test/")
    assert css("div ::text").select(page) == ["x"]


def test_an_element_without_the_attribute_is_passed_over() -> None:
    page = Document(b"<a>1</a><a href=/2>2</a>", "http://x.test/")
    assert css("a::attr(href)").first(page) == "/2"


@pytest.mark.parametrize(
    ("selector", "given_texts"),
    [
        ("//p", ["one btwo", "three four $12.99"]),
        ("//a/@href", ["", "/q"]),
        ("//p[1]/text()", ["one ", "two"]),
        ("count(//p)", ["2"]),
        ("count(//p) div 4", ["0.5"]),
        ("boolean(//p)", ["true"]),
        ("//td[.='1']/following::td[1]/text()", ["2"]),
        ("//table/tbody/tr/td", ["1", "2"]),
        ("'$'", ["$"]),
        ("//nothing", []),
    ],
)
def test_xpath(selector: str, given_texts: list[str]) -> None:
    assert xpath(selector).select(PAGE) == given_texts
    assert xpath(selector).first(PAGE) == (given_texts[0] if given_texts else None)


def test_xpath_below_a_node_stays_below_it() -> None:
    (div,) = PAGE.css("div")
    assert [node.text for node in div.xpath(".//b")] == ["b", "$12.99"]
    assert xpath("//a").select(div) == []
    assert xpath("./@id").select(div) == ["a"]
    assert xpath("./text()").select(PAGE.css("td")[1]) == ["2"]


def test_css_below_what_xpath_found() -> None:
    (row,) = PAGE.xpath("//tr")
    assert [cell.text for cell in row.css("td")] == ["1", "2"]
    assert (row.text, row.html) == ("1 2", "<tr><td>1</td><td>2</td></tr>")
    assert PAGE.xpath("//a")[1].attr("href") == "/q"
    assert PAGE.xpath("//body")[0].css("p")[0].text == "one btwo"


def test_a_regex_narrows_each_text() -> None:
    assert narrowed(css("b"), r"\$([\d.]+)").select(PAGE) == ["12.99"]
    assert narrowed(css("b"), r"\$([\d.]+)").first(PAGE) == "12.99"
    assert narrowed(xpath("//td"), r"\d").select(PAGE) == ["1", "2"]
    assert narrowed(css("td"), "x").first(PAGE) is None


def test_a_compiled_selector_is_reused() -> None:
    assert css("p.reused") is css("p.reused")


@pytest.mark.parametrize(
    ("compiled", "text", "column", "why"),
    [
        (css, "div >", 5, "not CSS"),
        (css, "p:hoover", 2, "not CSS"),
        (css, "div[", 4, "never closed"),
        (css, "a[href='x]", 8, "never closed"),
        (css, "a:has(b", 6, "never closed"),
        (css, "a::text b", 2, "at the very end"),
        (css, "::html", 1, "no element"),
        (css, "a::text, b", 2, "at the very end"),
        (css, "a::text, p ::text", 2, "the same at the end of each part"),
        (css, "a::text, p:hoover::text", 11, "not CSS"),
        (css, "a\0", 2, "NUL"),
        (css, "a\ud800", 2, "surrogate"),
        (css, "a" * (MAX_CHARS + 1), MAX_CHARS, "characters"),
        (xpath, "//a[", 5, "invalid expression"),
        (xpath, "//a[@b=$x]", 8, "variables"),
        (xpath, "document('x')", 1, "document()"),
        (xpath, "//a[re:test(., 'x')]", 5, "prefix 're'"),
        (xpath, "//a[foo()]", 5, "foo()"),
        (xpath, "count()", 1, "number of arguments"),
        (regex, "a(?=b)", 2, "look-around"),
        (regex, "x(", 1, "missing )"),
    ],
)
def test_a_bad_selector_is_refused_with_its_place(
    compiled: Callable[[str], object], text: str, column: int, why: str
) -> None:
    with pytest.raises(BadSelector) as refused:
        compiled(text)
    assert refused.value.column == column
    assert why in refused.value.why


@given(
    st.binary(max_size=300),
    st.sampled_from(["*", "a, p", "td::text", "*::attr(a)", "*::html", "body", "::text", "* ::attr(a)"]),
)
def test_css_never_fails_on_junk(body: bytes, selector: str) -> None:
    for text in css(selector).select(Document(body, "http://x.test/")):
        text.encode()


MARKUP = st.sampled_from([b"<p a=1>", b"<svg>", b"</p>", b"<table>", b"<td>", b"x", b"\0", b"<a-b>", b"<!--", b"<g:h>"])


@given(st.lists(MARKUP, max_size=30).map(b"".join))
def test_xpath_and_nodes_never_fail_on_junk(body: bytes) -> None:
    document = Document(body, "http://x.test/")
    for text in xpath("//* | //@*").select(document):
        text.encode()
    for node in (*document.css("*")[:10], *document.xpath("//*")[:10]):
        "".join([node.text, node.html, *xpath(".//text()").select(node), *css("*").select(node)]).encode()


@given(st.text(alphabet="ab.#[]()>+~:,*'\"=- \\/@$|1\0é", max_size=30))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    for use in (lambda: css(text).select(PAGE), lambda: xpath(text).select(PAGE), lambda: regex(text).find("ab")):
        try:
            use()
        except BadSelector as refused:
            assert 1 <= refused.column <= len(text) + 1


@pytest.mark.parametrize(
    ("selector", "column"),
    [
        ("../h2", 1),
        ("./../h2", 3),
        ("parent::div/@id", 1),
        ("ancestor::div", 1),
        ("following::p", 1),
        ("(following-sibling::p)[1]", 2),
        ("./preceding-sibling :: p", 3),
        (".//b | ../i", 8),
    ],
)
def test_xpath_that_leaves_the_element_is_refused_with_the_reason(selector: str, column: int) -> None:
    with pytest.raises(BadSelector, match="leaves the element") as refused:
        xpath(selector)
    assert refused.value.column == column
    with pytest.raises(BadSelector):
        PAGE.css("td")[0].xpath(selector)


@pytest.mark.parametrize(
    "selector",
    ["//th/following::td[1]", ".//b/..", "./b/parent::div", "//a[../b]", "ancestor-or-self::div", "a[@x='..']"],
)
def test_xpath_may_go_back_inside_the_element(selector: str) -> None:
    xpath(selector)
