from __future__ import annotations

import threading

import pytest
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from shoal.extract.css_search import search
from shoal.extract.elements import node_of, whole_tree


def texts(query: str, html: bytes) -> list[str]:
    return [node.text() for node in search(query, whole_tree(html))]


def test_one_engine_searches_page_after_page() -> None:
    for number in range(100):
        assert texts(f".a{number} > b", b"<p class=a%d><b>x%d</b><i>y</i>" % (number, number)) == [f"x{number}"]
    assert texts(".a", b"") == []


def test_a_selector_that_cannot_be_read_spoils_no_later_search() -> None:
    for _ in range(3):
        with pytest.raises(SelectolaxError):
            texts("a::b(", b"<a>x</a>")
        assert texts("a", b"<a>x</a>") == ["x"]


def test_threads_search_at_the_same_time() -> None:
    wrong: list[object] = []

    def look(number: int) -> None:
        html = b"".join(b"<p class=c%d>%d</p>" % (number, each) for each in range(200))
        for _ in range(50):
            found = texts(f".c{number}", html)
            if found != [str(each) for each in range(200)]:
                wrong.append(found)

    threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_root_of_a_fragment_is_searched_with_its_siblings() -> None:
    fragment = LexborHTMLParser(b"<p>a</p><p>b</p>", is_fragment=True).root
    assert fragment is not None
    assert [node.text() for node in search("p", fragment)] == ["a", "b"]
    from lxml import html as lxml_html  # type: ignore[import-untyped]

    row = node_of(lxml_html.fragment_fromstring("<tr><td>1</td><td>2</td></tr>"))
    assert [node.text() for node in search("td", row)] == ["1", "2"]
