from random import Random
from urllib.parse import unquote_to_bytes

import pytest
from ada_url import join_url, parse_url
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InvalidURL
from shoal.urls import Params, canonical, credentials_of, fingerprint, left_out

SPELLINGS = [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.com:80/%7Ebob/", "http://example.com/~bob/"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:80/", "https://example.com:80/"),
    ("http://example.com/a#b?c", "http://example.com/a"),
    ("http://user:secret@example.com/a@b", "http://example.com/a@b"),
    ("http://example.com/?", "http://example.com/"),
    ("http://example.com/?&&", "http://example.com/"),
    ("http://example.com/?b=2&a=1", "http://example.com/?a=1&b=2"),
    ("http://example.com/?a=2&b&a=1", "http://example.com/?a=2&a=1&b"),
    ("http://example.com/?a[]=2&b&a%5b%5D=1", "http://example.com/?a[]=2&a%5B%5D=1&b"),
    ("http://example.com/?a=&b", "http://example.com/?a=&b"),
    ("http://example.com/?q=a+b", "http://example.com/?q=a+b"),
    ("http://example.com/?q=a%20b", "http://example.com/?q=a%20b"),
    ("http://example.com/?b;a", "http://example.com/?b;a"),
    ("http://example.com/?a=x?y=z", "http://example.com/?a=x?y=z"),
    ("http://example.com/a%2fb%3f", "http://example.com/a%2Fb%3F"),
    ("http://example.com/%61%2D%2e%5f%7e", "http://example.com/a-._~"),
    ("http://example.com/%2%65", "http://example.com/%2%65"),
    ("http://example.com/%%34%31", "http://example.com/%%341"),
    ("http://example.com/%zz", "http://example.com/%zz"),
    ("http://example.com/caf\u00e9?\u00fc", "http://example.com/caf%C3%A9?%C3%BC"),
    ("http://example.com/a?utm_source=x&gclid=1&id=3&fbclid=2", "http://example.com/a?id=3"),
    ("http://example.com/a?utm%5Fsource=x", "http://example.com/a"),
    ("http://example.com/a?mc_eid=1#top", "http://example.com/a"),
]


@pytest.mark.parametrize(("spelt", "expected"), SPELLINGS)
def test_a_url_has_one_spelling(spelt: str, expected: str) -> None:
    assert canonical(spelt) == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (Params(keep=frozenset({"utm_source"})), "http://h/?sid=3&utm_source=x"),
        (Params(drop=frozenset({"sid"})), "http://h/"),
        (Params(keep=frozenset({"sid"}), drop=frozenset({"sid"})), "http://h/?sid=3"),
    ],
)
def test_a_job_keeps_and_drops_parameters_and_keep_wins(params: Params, expected: str) -> None:
    assert canonical("http://h/?utm_source=x&sid=3", params) == expected


def test_a_dropped_parameter_is_found_however_it_is_escaped() -> None:
    assert canonical("http://h/?a%5Bsid%5D=1&a[sid]=2", Params(drop=frozenset({"a[sid]"}))) == "http://h/"


DRAWN = "k3j9x2m4q8w7e6r5"


@pytest.mark.parametrize(
    ("spelt", "expected"),
    [
        ("http://h/a;jsessionid=0A1B.node1?b=1", "http://h/a?b=1"),
        ("http://h/a;JSESSIONID=1/b;v=2", "http://h/a/b;v=2"),
        ("http://h/a;v=1;jsessionid=2;w=3", "http://h/a;v=1;w=3"),
        ("http://h/;jsessionid=1", "http://h/"),
        ("http://h/.;jsessionid=1./x", "http://h/.;jsessionid=1./x"),
        ("http://h;jsessionid=1/x", "http://h;jsessionid=1/x"),
        ("http://h/?q=;jsessionid=1", "http://h/?q=;jsessionid=1"),
        (f"http://h/(S({DRAWN}))/a.aspx", "http://h/a.aspx"),
        (f"http://h/app/(A(x)S({DRAWN})F(y))/a", "http://h/app/a"),
        ("http://h/(S(small))/a", "http://h/(S(small))/a"),
        ("http://h/wiki/Foo_(S)/a", "http://h/wiki/Foo_(S)/a"),
        ("http://h/?PHPSESSID=x&a=1", "http://h/?a=1"),
        ("http://h/?phpsessid=x&CFID=1&CFTOKEN=2&jsessionid=3&ASPSESSIONIDQAB=4&osCsid=5", "http://h/"),
        (f"http://h/?sid={DRAWN}", "http://h/"),
        (f"http://h/?session_id={DRAWN}&sessionId={DRAWN}&SID={DRAWN}", "http://h/"),
        ("http://h/?sid=0f8fad5b-d9cb-469f-a165-70867728950e", "http://h/"),
        ("http://h/?sid=12", "http://h/?sid=12"),
        ("http://h/?session=winterconference", "http://h/?session=winterconference"),
        ("http://h/?session=spring-talks-2026-berlin", "http://h/?session=spring-talks-2026-berlin"),
        (f"http://h/?id={DRAWN}", f"http://h/?id={DRAWN}"),
    ],
)
def test_session_ids_fall_away_and_what_only_looks_like_one_stays(spelt: str, expected: str) -> None:
    assert canonical(spelt) == expected
    assert bool(left_out(spelt, Params())) == (spelt != expected)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h/a;jsessionid=1", "jsessionid"),
        (f"http://h/(S({DRAWN}))/a", "ASP.NET_SessionId"),
        ("http://h/?PHPSESSID=1", "PHPSESSID"),
        (f"http://h/?sid={DRAWN}", "sid"),
    ],
)
def test_a_session_id_is_kept_by_its_name(url: str, name: str) -> None:
    assert left_out(url, Params()) == [name]
    assert canonical(url, Params(keep=frozenset({name}))) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mailto:a@b.c", "not_http"),
        ("javascript:alert(1)", "not_http"),
        ("file:///etc/passwd", "not_http"),
        ("ftp://h/", "not_http"),
        ("", "malformed"),
        ("example.com/x", "malformed"),
        ("http://", "malformed"),
        ("http://a\x00b/", "malformed"),
        ("http://a b/", "malformed"),
        ("http://h/\ud800", "malformed"),
        ("http://h/" + "a" * 100_000, "too_long"),
        ("http://h/?" + "\u00fc" * 2_000, "too_long"),
    ],
)
def test_what_cannot_be_fetched_is_refused_with_a_reason(url: str, reason: str) -> None:
    with pytest.raises(InvalidURL) as refused:
        canonical(url)
    assert refused.value.reason == reason


def test_a_fragment_does_not_make_a_url_too_long() -> None:
    assert canonical("http://h/#" + "a" * 100_000) == "http://h/"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/", None),
        ("http://ann@h/", "ann:"),
        ("http://:pw@h/", ":pw"),
        ("http://ann:p%40%C3%BC@h/", "ann:p@\u00fc"),
    ],
)
def test_credentials_are_read_decoded(url: str, expected: str | None) -> None:
    assert credentials_of(url) == expected


def test_credentials_of_text_that_is_no_url_are_refused() -> None:
    with pytest.raises(InvalidURL):
        credentials_of("http://ann:pw@")


URL_TEXT = st.text(st.sampled_from("abcAB01:/\\?#[]@%&=;+.~-_ \t\n\x00\u00fc\u2603\ud800"), max_size=60)
PREFIXES = st.sampled_from(["", "http:", "http://", "http://h/", "https://h:8080/?", "https://u:p@h", " http://h/%"])


SESSION_TEXT = st.lists(
    st.sampled_from(
        [
            ";jsessionid=",
            ";jsess",
            "ionid=",
            "/",
            ".",
            "/(",
            "S(",
            DRAWN,
            ")",
            "))/",
            "A(",
            "?sid=",
            "&",
            "%2e",
            "%",
            ";",
        ]
    ),
    max_size=14,
).map("".join)


def canonical_or_none(url: str) -> str | None:
    try:
        return canonical(url)
    except InvalidURL:
        return None


@given(PREFIXES, URL_TEXT | SESSION_TEXT | st.text())
def test_canonical_is_idempotent_and_raises_nothing_but_invalid_url(prefix: str, text: str) -> None:
    once = canonical_or_none(prefix + text)
    if once is not None:
        assert canonical(once) == once


@given(PREFIXES, URL_TEXT)
def test_scheme_host_and_port_survive(prefix: str, text: str) -> None:
    once = canonical_or_none(prefix + text)
    if once is not None:
        places = ("protocol", "hostname", "port")
        assert parse_url(once, places) == parse_url(prefix + text, places)


NAMES = st.text("abcXYZ", min_size=1, max_size=3)


@given(
    st.dictionaries(NAMES, st.text("ab%+2;", max_size=4)),
    st.randoms(use_true_random=False),
    st.text("ab#", max_size=4),
)
def test_equal_requests_have_equal_fingerprints(query: dict[str, str], random: Random, fragment: str) -> None:
    pairs = [f"{name}={value}" for name, value in query.items()]
    one = "http://example.com/p?" + "&".join(pairs)
    random.shuffle(pairs)
    other = "HTTP://ann@EXAMPLE.com:80/./%70?" + "&".join(["utm_id=1", *pairs]) + "#" + fragment
    assert fingerprint(canonical(one)) == fingerprint(canonical(other))


@given(st.text("abc123/%?&=.", max_size=30))
def test_a_canonical_url_asks_for_the_same_decoded_path(text: str) -> None:
    spelt = join_url("http://h/", "/" + text.lstrip("/"))
    path = spelt.partition("?")[0]
    assert unquote_to_bytes(canonical(spelt).partition("?")[0]) == unquote_to_bytes(path)
