import time

import pytest

from shoal.errors import UsageError
from shoal.model import ScopeKind
from shoal.urls import Scope

SEED = "http://www.example.com/shop/books/index.html?page=1"


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (
            ScopeKind.HOST,
            ["http://www.example.com/", "https://www.example.com/x", "http://www.example.com:443/"],
            ["http://example.com/", "http://www.example.com:8080/", "http://a.www.example.com/"],
        ),
        (
            ScopeKind.DOMAIN,
            ["http://example.com/", "https://blog.example.com/", "http://example.com:8080/"],
            ["http://example.org/", "http://badexample.com/", "http://example.com.evil.org/"],
        ),
        (
            ScopeKind.PREFIX,
            ["https://www.example.com/shop/books/", "http://www.example.com/shop/books/a/b?c=/"],
            [
                "http://www.example.com/shop/",
                "http://www.example.com/shop/books2/",
                "http://example.com/shop/books/",
            ],
        ),
        (ScopeKind.ANY, ["http://example.org/", "http://[::1]:8000/"], []),
        (
            ScopeKind.LISTED,
            [SEED],
            ["http://www.example.com/shop/books/index.html", "http://www.example.com/"],
        ),
    ],
)
def test_scope_is_drawn_around_the_seeds(kind: ScopeKind, inside: list[str], outside: list[str]) -> None:
    scope = Scope(kind, [SEED], (), ())
    assert [url for url in inside if scope.refusal(url)] == []
    assert [scope.refusal(url) for url in outside] == ["off_scope"] * len(outside)


def test_prefix_of_a_seed_at_the_root_is_its_host() -> None:
    scope = Scope(ScopeKind.PREFIX, ["http://example.com/"], (), ())
    assert scope.refusal("http://example.com/a/b") is None
    assert scope.refusal("http://example.com.org/a/b") == "off_scope"


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        (ScopeKind.HOST, "http://shop.example.org/b"),
        (ScopeKind.DOMAIN, "http://b.example.org/"),
        (ScopeKind.PREFIX, "http://shop.example.org/a"),
    ],
)
def test_the_place_a_seed_redirected_to_joins_the_scope(kind: ScopeKind, url: str) -> None:
    scope = Scope(kind, [SEED], (), ())
    before = scope.version
    assert scope.refusal(url) == "off_scope"
    scope.admit("https://shop.example.org/")
    assert scope.refusal(url) is None
    assert scope.version > before
    scope.admit("https://shop.example.org/")
    assert scope.version == before + 1


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("/tag/", "http://h/tag/x", "http://h/Tag/x"),
        ("?page=", "http://h/a?page=2", "http://h/a/page=2"),
        ("/a.b", "http://h/a.b", "http://h/axb"),
        ("/tag/*/page", "http://h/x/tag/y/page/2", "http://h/page/tag/y"),
        ("*.pdf", "http://h/a.pdf?x", "http://h/a.html"),
        ("aa*aa", "http://h/aaaa", "http://h/aaa"),
        ("re:[.]pdf$", "http://h/a.pdf", "http://h/a.pdf?x"),
        ("re:/20[0-9]{2}/", "http://h/2024/a", "http://h/1999/a"),
    ],
)
def test_patterns_are_text_with_stars_or_regular_expressions(pattern: str, matching: str, other: str) -> None:
    excluding = Scope(ScopeKind.ANY, [], (), (pattern,))
    assert (excluding.refusal(matching), excluding.refusal(other)) == ("excluded", None)
    including = Scope(ScopeKind.ANY, [], (pattern,), ())
    assert (including.refusal(matching), including.refusal(other)) == (None, "excluded")


def test_exclude_wins_over_include_and_one_include_is_enough() -> None:
    scope = Scope(ScopeKind.ANY, [], ("/a", "/b"), ("/a/private",))
    verdicts = [scope.refusal(f"http://h/{path}") for path in ("a", "b", "c", "a/private")]
    assert verdicts == [None, None, "excluded", "excluded"]


def test_seeds_are_fetched_whatever_the_patterns_say() -> None:
    scope = Scope(ScopeKind.HOST, [SEED], ("/nothing",), ("/shop/",))
    assert scope.refusal(SEED) is None
    assert scope.refusal(SEED + "0") == "excluded"


@pytest.mark.parametrize("pattern", ["re:(abc", "re:a(?=b)", r"re:(a)\1", "re:[z-a]", "re:\ud800", "", "re:"])
def test_a_pattern_that_cannot_work_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(UsageError) as refused:
        Scope(ScopeKind.ANY, [], (), ("/fine", pattern))
    assert repr(pattern) in str(refused.value)
    assert str(refused.value).startswith("exclude pattern")


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:(a|a)*b$", "re:.*.*.*.*.*x", "*a*a*a*a*a*a*a*a*x"])
def test_no_pattern_can_stall_a_worker(pattern: str) -> None:
    scope = Scope(ScopeKind.ANY, [], (), (pattern,))
    started = time.process_time()
    assert scope.refusal("http://h/" + "a" * 8_000 + "!") is None
    assert time.process_time() - started < 0.5


def test_patterns_can_be_replaced_and_verdicts_given_before_can_be_told() -> None:
    scope = Scope(ScopeKind.HOST, [SEED], (), ("*/a",))
    before = scope.version
    scope.set_patterns((), ("*/b",))
    assert scope.refusal("http://www.example.com/a") is None
    assert scope.refusal("http://www.example.com/b") == "excluded"
    assert scope.version > before
    with pytest.raises(UsageError):
        scope.set_patterns(("re:(",), ())


def test_a_scope_becomes_another_at_once_and_verdicts_given_before_are_known_for_old() -> None:
    scope = Scope(ScopeKind.PREFIX, [SEED, "http://a.test/x/", "http://b.test/y/"], (), ())
    wide, narrow = Scope(ScopeKind.ANY, [SEED], (), ()), Scope(ScopeKind.LISTED, [SEED], (), ("*.pdf",))
    widths = [scope.version]
    for other, refusal in ((wide, None), (narrow, "off_scope"), (Scope(ScopeKind.HOST, [SEED], (), ()), None)):
        scope.replace_with(other)
        widths.append(scope.version)
        assert scope.refusal("http://www.example.com/") == refusal
        assert scope.refusal(SEED) is None
    scope.admit("http://c.test/")
    assert scope.refusal("http://c.test/z") is None
    assert sorted({*widths, scope.version}) == [*widths, scope.version], "it only grows"
