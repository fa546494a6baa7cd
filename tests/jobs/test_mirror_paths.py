from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.jobs.mirror_paths import MAX_NAME_BYTES, MAX_PATH_BYTES, mirror_paths

HTML, CSS, PNG = "text/html", "text/css", "image/png"


@pytest.mark.parametrize(
    ("url", "media", "path"),
    [
        ("https://a.example/", HTML, "a.example/index.html"),
        ("http://a.example:8080/x/", HTML, "a.example+8080/x/index.html"),
        ("https://a.example/about", HTML, "a.example/about.html"),
        ("https://a.example/a.php?id=1&b=2", HTML, "a.example/a.php@id=1&b=2.html"),
        ("https://a.example/?p=a/b", HTML, "a.example/index.html@p=a%2Fb.html"),
        ("https://a.example/style?v=3", CSS, "a.example/style@v=3.css"),
        ("https://a.example/i.png?v=3", PNG, "a.example/i.png@v=3.png"),
        ("https://a.example/i.svg?x=1", "image/svg+xml", "a.example/i.svg@x=1.svg"),
        ("https://a.example/photo.JPEG", "image/jpeg", "a.example/photo.JPEG"),
        ("https://a.example/app?v=3", "text/javascript", "a.example/app@v=3.js"),
        ("https://a.example/data?v=3", "application/octet-stream", "a.example/data@v=3"),
        ("https://a.example/caf%C3%A9/%E6%97%A5", HTML, "a.example/café/日.html"),
        ("https://a.example/%2e%2e/%2e%2e/etc/passwd", PNG, "a.example/%2E%2E/%2E%2E/etc/passwd.png"),
        ("https://a.example/a%2F..%2Fb", PNG, "a.example/a%2F..%2Fb.png"),
        ("https://a.example/a//b.png", PNG, "a.example/a/_/b.png"),
        ("https://a.example/con/nul.txt", PNG, "a.example/_con/_nul.txt.png"),
        ("https://a.example/con.%2F..%2F..%2Fx", PNG, "a.example/_con.%2F..%2F..%2Fx.png"),
        ("https://a.example/?nul.%2F..%2F..%2Fx", PNG, "a.example/index.html@_nul.%2F..%2F..%2Fx.png"),
        ("https://a.example/x%00%5C:y", PNG, "a.example/x%00%5C%3Ay.png"),
        ("https://a.example/50%25", PNG, "a.example/50%25.png"),
    ],
)
def test_files_are_named_after_their_urls(url: str, media: str, path: str) -> None:
    assert mirror_paths({url: media}) == {url: path}


def test_names_that_clash_get_a_hash() -> None:
    urls = ["Page.html", "page.html", "data", "data/x.png", "DATA/y.png", "about", "about.html"]
    media = {f"https://a.example/{path}": PNG if "data" in path.lower() else HTML for path in urls}
    paths = mirror_paths(media)
    folded = [path.casefold() for path in paths.values()]
    assert len(set(folded)) == len(urls)
    folders = {str(parent) for path in folded for parent in PurePosixPath(path).parents}
    assert not folders & set(folded), "no file has the name of a folder"
    assert paths == mirror_paths(dict(reversed(media.items()))), "the order does not matter"


def test_long_names_are_shortened_and_keep_their_extension() -> None:
    long = {f"https://a.example/{'ä' * 400}{n}.png": PNG for n in range(2)}
    deep = "https://a.example/" + "/".join(["folder"] * 300) + "/x.html"
    paths = mirror_paths({**long, deep: HTML})
    assert len(set(paths.values())) == 3
    for path in paths.values():
        assert len(path.encode()) <= MAX_PATH_BYTES and path.endswith((".png", ".html"))
        assert all(len(part.encode()) <= MAX_NAME_BYTES for part in path.split("/"))


@given(
    st.dictionaries(st.text(st.characters(codec="ascii", min_codepoint=33), max_size=30), st.sampled_from([HTML, PNG]))
)
def test_no_url_leaves_the_folder_and_no_two_share_a_file(paths: dict[str, str]) -> None:
    made = mirror_paths({f"https://a.example/{path}": media for path, media in paths.items() if "#" not in path})
    folded = [path.casefold() for path in made.values()]
    assert len(set(folded)) == len(folded)
    for path in made.values():
        parts = path.split("/")
        assert parts[0] == "a.example" and not {"", ".", ".."} & set(parts) and "\\" not in path
        assert not any(other.startswith(path.casefold() + "/") for other in folded)
