from __future__ import annotations

from shoal.extract.document import Document
from shoal.extract.page_assets import css_assets, html_assets, is_asset_type, script_assets

HTML = b"""<!doctype html><html><head><base href="/b/">
<link rel="Stylesheet" href=" a.css "><link rel="shortcut icon" href=i.ico><link rel=canonical href=c.html>
<style>@import "s.css"; p { background: url(s.png) }</style><script src=x.js></script></head>
<body background=bg.png><img src=1.png srcset="1.png 1x, 2.png 2x"><p style="background: url('p.png')">
<video src=film.mp4 poster=poster.jpg></video><a href=page.html>x</a><iframe src=frame.html></iframe>
<picture><source srcset=3.webp></picture></body></html>"""


def test_a_page_names_its_images_stylesheets_scripts_and_fonts_but_no_pages() -> None:
    base, links = html_assets(Document(HTML, "https://a.example/"))
    assert base == "/b/"
    assert links == [
        *("a.css", "i.ico", "s.css", "s.png", "x.js", "bg.png", "1.png", "2.png", "p.png", "poster.jpg", "3.webp"),
    ]


def test_modules_and_images_that_come_into_view_later_are_found_too() -> None:
    html = b"""<link rel=modulepreload href=m.js><script type=importmap>{"imports": {"a": "/a.js", "b/": "/b/", "c": 1}}
    </script><script type=importmap>{"imports": </script><img src="data:image/gif;base64,AA" data-src=late.png>
    <svg><use href="#own"></use><use xlink:href="sprite.svg#lamp"></use></svg>"""
    _, links = html_assets(Document(html, "https://a.example/"))
    assert [link for link in links if not link.startswith("data:")] == ["m.js", "/a.js", "late.png", "sprite.svg#lamp"]


def test_an_embedded_picture_is_an_asset_and_an_embedded_film_is_none() -> None:
    html = b"""<object data="a.svg?v=1"></object><object data=chart type=image/svg+xml></object><embed src=b.PNG>
    <object data=film.mp4></object><object data=page></object><embed src=c.svg type=text/x-game><object></object>"""
    _, links = html_assets(Document(html, "https://a.example/"))
    assert links == ["a.svg?v=1", "chart", "b.PNG"]


def test_a_script_names_the_scripts_that_it_imports() -> None:
    script = """import "./a.js"; import b, {c as d} from '../b.js';export*from"/c.mjs"
    const view = () => import( './lazy.js' ), e = await import("https://b.example/e.js"), x = Array.from("./x.js")
    import vue from "vue"; load("./y.js"); import("./" + name); import `./z.js`"""
    assert script_assets(script) == ["./a.js", "../b.js", "/c.mjs", "./lazy.js", "https://b.example/e.js"]
    html = f"<script type=module>{script}</script><script type=module src=m.js>import './no.js'</script>".encode()
    _, links = html_assets(Document(html + b"<script>import('./plain.js')</script>", "https://a.example/"))
    assert links == [*script_assets(script), "m.js"]


def test_a_stylesheet_names_fonts_and_what_it_imports() -> None:
    assert css_assets('@import url(a.css); @font-face { src: url("f.woff2"), url(f.woff2) }') == ["a.css", "f.woff2"]


def test_pages_are_no_assets() -> None:
    assert is_asset_type("image/png") and is_asset_type("font/woff2") and is_asset_type("text/css")
    assert not is_asset_type("text/html") and not is_asset_type("application/json")
