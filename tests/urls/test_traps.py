import pytest

from shoal.urls import trap


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("", None),
        ("a/b/c?d=1#", None),
        ("11/11/11/x", None),
        ("a/a/a", None),
        ("a/a/a/a", "trap:repeated_segment"),
        ("a/a/a/a/", "trap:repeated_segment"),
        ("a/x/a/y/a/z/a", "trap:repeated_segment"),
        ("a/b/a/b", None),
        ("a/b/a/b/a/b", "trap:repeated_segment"),
        ("x/y/a/b/a/b/a/b/z", "trap:repeated_segment"),
        ("a/b/c/a/b/c/a/b/c", "trap:repeated_segment"),
        ("a/b/c/a/b/d/a/b/e", None),
        ("a/////", "trap:repeated_segment"),
        ("go?to=/a/a/a/a/a/a", None),
        ("/".join(map(str, range(24))), None),
        ("/".join(map(str, range(24))) + "/", None),
        ("/".join(map(str, range(25))), "trap:depth"),
        ("?" + "&".join(f"p{n}=1" for n in range(20)), None),
        ("?" + "&".join(f"p{n}=1" for n in range(21)), "trap:query_params"),
        ("&" * 30, None),
        ("x" * (2_000 - len("http://h/")), None),
        ("x" * (2_001 - len("http://h/")), "trap:length"),
    ],
)
def test_endless_urls_are_told_by_their_shape(path: str, verdict: str | None) -> None:
    assert trap("http://h/" + path) == verdict
