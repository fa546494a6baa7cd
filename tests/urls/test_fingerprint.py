import pytest

from shoal.errors import InvalidURL
from shoal.urls import Params, fingerprint, host_of, target
from shoal.urls.fingerprint import fingerprints


def test_a_fingerprint_is_a_signed_64_bit_number_that_never_changes() -> None:
    # Frontiers and stores hold it: another value would orphan every crawl already begun.
    assert fingerprint("http://example.com/") == 3526950241150912419
    numbers = [fingerprint(f"http://example.com/{n}") for n in range(100)]
    assert all(-(1 << 63) <= number < 1 << 63 for number in numbers)
    assert min(numbers) < 0 < max(numbers)


def test_many_fingerprints_are_those_of_each() -> None:
    urls = [f"https://example.com/{number}" for number in range(100)]
    assert list(fingerprints(urls)) == [fingerprint(url) for url in urls]
    assert fingerprints([]) == ()


@pytest.mark.parametrize(
    "other",
    [
        ("http://example.com/b", "GET", b""),
        ("http://example.com/a", "POST", b""),
        ("http://example.com/a", "GET", b"b"),
        ("http://example.com/", "GET", b"a"),
    ],
)
def test_url_method_and_body_tell_requests_apart(other: tuple[str, str, bytes]) -> None:
    assert fingerprint(*other) != fingerprint("http://example.com/a")


@pytest.mark.parametrize(
    ("url", "host", "domain"),
    [
        ("http://www.example.com/a", "www.example.com", "example.com"),
        ("https://www.example.com:80/", "www.example.com", "example.com"),
        ("http://www.example.com:443/", "www.example.com", "example.com"),
        ("http://www.example.com:8080/", "www.example.com:8080", "example.com:8080"),
        ("http://news.bbc.co.uk/", "news.bbc.co.uk", "bbc.co.uk"),
        ("http://co.uk/", "co.uk", "co.uk"),
        ("http://ann.github.io/", "ann.github.io", "ann.github.io"),
        ("http://www.example.com./", "www.example.com.", "example.com"),
        ("http://localhost:8000/", "localhost:8000", "localhost:8000"),
        ("http://127.0.0.1:8000/", "127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://192.0.2.1/a:b", "192.0.2.1", "192.0.2.1"),
        ("http://[::1]:8000/", "[::1]:8000", "[::1]:8000"),
        ("http://[2001:db8::80]/", "[2001:db8::80]", "[2001:db8::80]"),
        ("http://www.xn--mnchen-3ya.de/", "www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    ],
)
def test_politeness_counts_by_host_or_by_domain(url: str, host: str, domain: str) -> None:
    assert (host_of(url), host_of(url, "domain")) == (host, domain)


def test_a_target_is_the_same_for_every_spelling() -> None:
    spelt = target("HTTP://ann:pw@WWW.Example.com:80/?b=1&a=2&utm_id=3#x", Params(), "domain")
    assert spelt == target("http://www.example.com/?a=2&b=1", Params(), "domain")
    assert (spelt.url, spelt.host) == ("http://www.example.com/?a=2&b=1", "example.com")
    assert spelt.fingerprint == fingerprint(spelt.url)


def test_a_target_of_text_that_is_no_url_is_refused() -> None:
    with pytest.raises(InvalidURL):
        target("mailto:ann@example.com", Params(), "host")
