import tracemalloc
from typing import Any

from ada_url import join_url
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import InvalidURL
from shoal.model import ScopeKind
from shoal.urls import PageLinks, Params, Resolver, Scope, Traps, canonical, linked, target
from shoal.urls.file_types import FileTypes
from shoal.urls.resolve_links import note_offered

SITE = "https://example.com/"
PAGE = f"{SITE}shop/list?page=1"
TRAPS = Traps((), 1_800_000_000)


def resolver(kind: ScopeKind = ScopeKind.HOST, exclude: tuple[str, ...] = (), capacity: int = 50_000) -> Resolver:
    return Resolver(Scope(kind, [PAGE], (), exclude), TRAPS, Params(), "host", capacity)


def said(links: PageLinks) -> tuple[Any, ...]:
    return links.targets, links.urls, links.skipped, links.trapped


def test_a_page_gives_distinct_targets_in_order_skips_per_occurrence_and_all_urls() -> None:
    hrefs = [
        "b", "/a", "b#part", "https://example.com/shop/b", "#top", "/cart", "http://other.org/",
        "//other.org/x", "mailto:ann@example.com", "javascript:void(0)", "tel:+1", "data:,x", "https://[bad",
        "/x/x/x/x", "/" + "y" * 3_000, "/" + "y" * 9_000, "b", "/cart",
    ]  # fmt: skip
    links = resolver(exclude=("/cart",)).resolve(PAGE, hrefs)
    expected = ["https://example.com/shop/b", "https://example.com/a"]
    assert links.targets == [target(url, Params(), "host") for url in expected]
    traps = {"trap:repeated_segment": 1, "trap:length": 2}
    assert links.skipped == {"excluded": 2, "off_scope": 2, "not_http": 4, "malformed": 1, **traps}
    assert links.urls == [
        *expected,
        "https://example.com/cart",
        "http://other.org/",
        "https://other.org/x",
        "https://example.com/x/x/x/x",
        "https://example.com/" + "y" * 3_000,
    ]


def test_traps_are_told_by_rule_with_the_first_urls() -> None:
    months = [f"/2031/{month:02d}/" for month in range(1, 10)]
    links = resolver().resolve(PAGE, ["/x/x/x/x", "/x/x/x/x", *months])
    assert links.skipped == {"trap:repeated_segment": 2, "trap:calendar": 9}
    assert links.trapped == {
        "trap:repeated_segment": ["https://example.com/x/x/x/x"],
        "trap:calendar": [f"https://example.com{month}" for month in months[:3]],
    }


def test_what_was_given_to_the_job_is_no_trap() -> None:
    seed = "https://example.com/2031/05/"
    known = Resolver(Scope(ScopeKind.HOST, [seed], (), ()), TRAPS, Params(), "host")
    links = known.resolve(seed, ["/2031/05/", "/2031/06/"])
    assert [found.url for found in links.targets] == [seed]


def test_what_is_too_long_for_any_request_cannot_be_allowed() -> None:
    scope = Scope(ScopeKind.HOST, [PAGE], (), ())
    known = Resolver(scope, Traps(["length"], 1_800_000_000), Params(), "host")
    links = known.resolve(PAGE, ["/" + "y" * 3_000, "/" + "y" * 9_000])
    assert (len(links.targets), links.skipped) == (1, {"too_long": 1})


def test_known_links_get_the_same_answer_again() -> None:
    known = resolver()
    hrefs = ["b", "/a", "?page=2", "", "http://other.org/", "mailto:x", "#top", "https:c", " d\n"]
    first, again = known.resolve(PAGE, hrefs), known.resolve(PAGE, hrefs)
    assert said(first) == said(again) == said(resolver().resolve(PAGE, hrefs))


def test_the_same_href_means_another_url_on_another_page() -> None:
    one = resolver(ScopeKind.ANY)
    hrefs = ["b", "/a", "?page=2", "", "//cdn.org/x", "http:c"]
    for base in (PAGE, "https://example.com/shop/", "https://example.com/", "http://example.com/shop/list"):
        assert one.resolve(base, hrefs).urls == [canonical(join_url(base, href)) for href in hrefs]


def test_verdicts_fall_when_the_scope_grows() -> None:
    scope = Scope(ScopeKind.HOST, [PAGE], (), ())
    known = Resolver(scope, TRAPS, Params(), "host")
    assert known.resolve(PAGE, ["https://www.example.com/a"]).skipped == {"off_scope": 1}
    scope.admit("https://www.example.com/")
    links = known.resolve(PAGE, ["https://www.example.com/a"])
    assert [found.url for found in links.targets] == ["https://www.example.com/a"]
    assert links.skipped == {}


def test_verdicts_fall_when_the_patterns_change() -> None:
    scope = Scope(ScopeKind.HOST, [PAGE], (), ())
    known = Resolver(scope, TRAPS, Params(), "host")
    assert len(known.resolve(PAGE, ["/a", "/b"]).targets) == 2
    scope.set_patterns((), ("*/a",))
    assert known.resolve(PAGE, ["/a", "/b"]).skipped == {"excluded": 1}


def test_the_parameters_and_the_group_of_the_job_hold_for_links() -> None:
    scope = Scope(ScopeKind.ANY, [], (), ())
    params = Params(drop=frozenset({"sid"}))
    links = Resolver(scope, TRAPS, params, "domain").resolve(PAGE, ["http://a.example.org/?sid=1"])
    assert [(found.url, found.host) for found in links.targets] == [("http://a.example.org/", "example.org")]


def test_a_link_that_a_page_has_twice_is_one_link() -> None:
    links = resolver().resolve(PAGE, ["/x", "y", "/x", "?z", "y", "?z", "/x"])
    assert [link.url for link in links.fresh] == [f"{SITE}x", f"{SITE}shop/y", f"{SITE}shop/list?z"]


def test_with_only_new_what_the_frontier_has_is_passed_over_and_skips_count_as_ever() -> None:
    known = resolver()
    hrefs = ["/a", "b", "https://example.com/c", "?page=2", "mailto:x", "http://other.org/"]
    note_offered(known.resolve(PAGE, hrefs, only_new=True).fresh)
    links = known.resolve(PAGE, [*hrefs, "/new"], only_new=True)
    # One that hangs on the whole base is known by another spelling, and looked at.
    assert [link.url for link in links.links] == [f"{SITE}shop/list?page=2", None, "http://other.org/", f"{SITE}new"]
    assert [link.url for link in links.fresh] == [f"{SITE}new"]
    assert links.skipped == {"not_http": 1, "off_scope": 1}
    assert [link.url for link in known.resolve(f"{SITE}other/", ["b"], only_new=True).fresh] == [f"{SITE}other/b"]
    assert len(known.resolve(PAGE, hrefs).links) == len(hrefs)


def test_what_was_passed_over_is_looked_at_again_when_the_scope_changes() -> None:
    scope = Scope(ScopeKind.HOST, [PAGE], (), ())
    known = Resolver(scope, TRAPS, Params(), "host")
    note_offered(known.resolve(PAGE, ["/a"], only_new=True).fresh)
    assert known.resolve(PAGE, ["/a"], only_new=True).links == []
    late = known.resolve(PAGE, ["/a/late"], only_new=True).fresh
    scope.set_patterns((), ("*/a*",))
    for _ in range(2):
        assert known.resolve(PAGE, ["/a", "/a/late"], only_new=True).skipped == {"excluded": 2}
        note_offered(late)


def test_answers_stay_right_when_the_memory_is_too_small() -> None:
    small = resolver(capacity=10)
    pages = [[f"/{(page * 7 + link) % 40}" for link in range(12)] for page in range(50)]
    for hrefs in pages:
        assert said(small.resolve(PAGE, hrefs)) == said(resolver().resolve(PAGE, hrefs))


def test_offered_links_stay_known_when_the_memory_is_too_small_for_them() -> None:
    small, unsaved = resolver(capacity=200), []
    hrefs = [f"/{link}" for link in range(2_000)] + [f"page{link}" for link in range(1_000)]
    for start in range(0, len(hrefs), 50):
        unsaved.append(small.resolve(PAGE, hrefs[start : start + 50], only_new=True).fresh)
        if len(unsaved) > 3:
            note_offered(unsaved.pop(0))
    # All but the last, and a few for which there was no room when they were met.
    assert len(small.resolve(PAGE, hrefs[:-400], only_new=True).links) < 200
    unknown = ["/new", "page", SITE, SITE[:-1], f"{SITE}shop/"]
    assert [link.href for link in small.resolve(PAGE, ["/0", *unknown, "page0"], only_new=True).links] == unknown
    assert len(small.resolve(f"{SITE}other/", hrefs[-900:], only_new=True).links) == 900


def test_a_site_without_end_does_not_fill_the_memory() -> None:
    small = resolver(capacity=200)
    small.resolve(PAGE, [f"/{link}" for link in range(1_000)])
    tracemalloc.start()
    for page in range(50):
        small.resolve(f"https://example.com/{page}/", [f"{link}" for link in range(100)])
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 5,000 verdicts would take about 3 MB.
    assert kept_bytes < 300_000


BASES = st.sampled_from(
    [
        "http://h",
        "http://h/a/b",
        "https://h:8080/a/b/?q=/c/",
        "http://u:p@h/%41/%2?b&a#f",
        "https://[::1]/x//y",
        "http://h/a;b/c:d",
    ]
)
HREFS = st.text(st.sampled_from("ab1:/\\?#@%.& \t\n\x00\x1f[]\u00fc\ud800"), max_size=12)
STARTS = st.sampled_from(["", "http:", "https:", "HTTPS:", "http://", "//", "/", "\\", "?", "mailto:", "..", "%2"])
ANY = Resolver(Scope(ScopeKind.ANY, [], (), ()), TRAPS, Params(), "host", capacity=500)


def joined(base: str, href: str) -> list[str]:
    try:
        return [canonical(join_url(base, href))]
    except (ValueError, InvalidURL):
        return []


@given(BASES, st.lists(st.builds(str.__add__, STARTS, HREFS), max_size=4))
def test_resolving_is_joining_as_whatwg_does_and_then_canonical(base: str, hrefs: list[str]) -> None:
    visible = [href for href in hrefs if not is_fragment(base, href)]
    expected = [url for href in visible for url in joined(base, href)]
    links = ANY.resolve(canonical(base), hrefs)
    assert links.urls == linked(canonical(base), hrefs, Params()) == list(dict.fromkeys(expected))
    assert len(visible) - len(expected) == links.skipped.get("malformed", 0) + links.skipped.get("not_http", 0)


def is_fragment(base: str, href: str) -> bool:
    text = href.strip("".join(map(chr, range(33))))
    for ignored in "\t\n\r":
        text = text.replace(ignored, "")
    scheme = base.partition("//")[0]
    return text.startswith("#") or text.lower().startswith(scheme + "#")


PATHS = st.lists(st.text("ab0129._-~%(;:", min_size=1, max_size=6), min_size=1, max_size=6).map(
    lambda parts: "/" + "/".join(parts)
)


@given(st.lists(PATHS | PATHS.map(lambda path: path + "/"), max_size=10))
@example(["/1901/05/", "/2099/01/", "/x/x/x/x", "/" + "y" * 1_990])
def test_a_plain_path_on_the_same_site_is_judged_as_any_other_link(paths: list[str]) -> None:
    asked_for_each = Resolver(Scope(ScopeKind.HOST, [PAGE], ("*",), ()), TRAPS, Params(), "host")
    assert said(resolver().resolve(PAGE, paths)) == said(asked_for_each.resolve(PAGE, paths))


SESSION = "(S(abcdefghijklmnop1234))"
DIRECTORIES = ("", "shop/", "a;b/%C3%A9/", f"{SESSION}/x/", "x/x/x/", "2099/", "a/" * 22, "y" * 1_900 + "/")


NAMES = PATHS.map(lambda path: path[1:]) | PATHS.map(lambda path: SITE[:-1] + path)


@given(st.sampled_from(DIRECTORIES), st.lists(NAMES, max_size=10))
@example("", [f"{SITE}a.zip", f"{SITE}2099/01/", f"{SITE}x/x/x/x", SITE, SITE[:-1], f"{SITE[:-1]}.org/a"])
@example("x/x/x/", ["x", "y.html", "y.html#part", "z.zip", "x/"])
@example("2099/", ["01/", "b"])
@example("y" * 1_900 + "/", ["y" * 99, "y" * 80 + "/" + "z" * 99])
def test_a_plain_name_or_url_is_judged_as_any_other_link(directory: str, names: list[str]) -> None:
    page = canonical(f"{SITE}{directory}list?page=1")
    asked_for_each = Resolver(Scope(ScopeKind.HOST, [PAGE], ("*",), ()), TRAPS, Params(), "host", types=FileTypes())
    known = Resolver(Scope(ScopeKind.HOST, [PAGE], (), ()), TRAPS, Params(), "host", types=FileTypes())
    names += [f"{SITE}a", "a"]
    expected = said(asked_for_each.resolve(page, names))
    assert said(known.resolve(page, names)) == said(known.resolve(page, names)) == expected


def test_an_absolute_link_means_the_same_on_every_host() -> None:
    known = resolver(ScopeKind.ANY)
    first = known.resolve("https://a.example/", ["http://c.example/x", "//d.example/y"])
    second = known.resolve("http://b.example/", ["http://c.example/x", "//d.example/y"])
    assert [found.url for found in first.targets] == ["http://c.example/x", "https://d.example/y"]
    assert [found.url for found in second.targets] == ["http://c.example/x", "http://d.example/y"]
