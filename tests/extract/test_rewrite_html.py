from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from shoal.extract.rewrite_css import rewrite_css
from shoal.extract.rewrite_html import base_href, candidates, rewrite_html


def shouted(link: str) -> str:
    return link.upper()


def rewritten(html: str) -> str:
    return rewrite_html(LexborHTMLParser(html), shouted)


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href=' x '>", 'href="X"'),
        ("<img src=x alt=y>", 'src="X" alt="y"'),
        ("<video poster=p src=v>", 'poster="P" src="V"'),
        ("<object data=o>", 'data="O"'),
        ("<p data=o>", 'data="o"'),
        ("<form action=f>", 'action="F"'),
        ("<svg><use xlink:href=s></svg>", 'xlink:href="S"'),
        ("<img srcset='a.png 1x, b,c.png 2x,d.png'>", 'srcset="A.PNG 1x, B,C.PNG 2x, D.PNG"'),
        ("<p style='background: url(x.png)'>", "url(&quot;X.PNG&quot;)"),
        ("<style>p > b { background: url(x.png) }</style>", 'p > b { background: url("X.PNG") }'),
        ("<meta http-equiv=refresh content='5; url=x'>", 'content="5; url=X"'),
        ("<meta http-equiv=refresh content='5'>", 'content="5"'),
        ("<script src=x integrity=sha256-a crossorigin></script>", '<script src="X"></script>'),
        ("<script>let a = '<a href=x>'</script>", "let a = '<a href=x>'"),
        ("<!-- <a href=x> -->", "<!-- <a href=x> -->"),
    ],
)
def test_every_place_of_a_url_is_rewritten_and_nothing_else(html: str, found: str) -> None:
    assert found in rewritten(html)


@pytest.mark.parametrize(
    "head",
    ["", "<meta charset=iso-8859-1>", "<meta http-equiv=Content-Type content='text/html; charset=iso-8859-1'>"],
)
def test_the_page_says_that_it_is_utf_8(head: str) -> None:
    html = rewritten(f"<!doctype html><html><head>{head}<title>é</title></head><body>x")
    assert html.startswith("<!DOCTYPE html><html><head>") and "iso-8859-1" not in html
    assert html.count("charset=") == 1 and "utf-8" in html


def test_what_would_break_the_copy_is_removed() -> None:
    html = "<base href=/b/><meta http-equiv=Content-Security-Policy content=\"default-src 'self'\"><a href=x>"
    assert base_href(LexborHTMLParser(html)) == "/b/"
    assert "<base" not in rewritten(html) and "Security" not in rewritten(html)


@pytest.mark.parametrize(
    ("css", "made"),
    [
        ("a{b:url(x)}", 'a{b:url("X")}'),
        ("a{b:url( 'x y' )}", 'a{b:url("X Y")}'),
        ('@import "x.css" screen;', '@import "X.CSS" screen;'),
        ("@import url(x.css);", '@import url("X.CSS");'),
        ("/* url(x) */ a{}", "/* url(x) */ a{}"),
        (r"a{b:url(x\29 y)}", 'a{b:url("X)Y")}'),
        ("a{b:url()}", "a{b:url()}"),
        ('@charset "iso-8859-1"; a{}', '@charset "utf-8"; a{}'),
    ],
)
def test_urls_of_css_are_rewritten(css: str, made: str) -> None:
    assert rewrite_css(css, shouted) == made


@pytest.mark.parametrize("css", ["url(" + r"\aaaaaa" * 10_000, "/* " * 300_000, "url(" + " " * 900_000])
def test_no_stylesheet_takes_long(css: str) -> None:
    assert rewrite_css(css, shouted) == css


@pytest.mark.parametrize("srcset", [" " * 900_000, "( " * 400_000])
def test_no_srcset_takes_long(srcset: str) -> None:
    assert len(candidates(srcset)) <= 1


def test_no_refresh_takes_long() -> None:
    content = f"0;url='x{' ' * 900_000}y'"
    assert "Y" in rewritten(f'<meta http-equiv=refresh content="{content}">')
