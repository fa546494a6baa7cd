"""Cases of WHATWG's own test data that decide where an http(s) request goes."""

import pytest

from shoal.errors import InvalidURL
from shoal.model import ScopeKind
from shoal.urls import Params, Resolver, Scope, Traps, canonical

ABSOLUTE = [
    ("http://example.com/././foo", "http://example.com/foo"),
    ("http://example.com/foo/bar/..", "http://example.com/foo/"),
    ("http://example.com/foo/../../../ton", "http://example.com/ton"),
    ("http://example.com/foo/%2e%2e/bar", "http://example.com/bar"),
    ("http://example.com/foo/%2E/bar", "http://example.com/foo/bar"),
    ("http://example.com//a//b", "http://example.com//a//b"),
    ("http:\\\\example.com\\a\\b?c\\d", "http://example.com/a/b?c\\d"),
    ("http:example.com/", "http://example.com/"),
    ("http:///example.com/", "http://example.com/"),
    ("\t ht\ntp://exa\rmple.com/a\tb \n", "http://example.com/ab"),
    ("\x01\x1f http://example.com/\x00", "http://example.com/"),
    ("http://example.com/a b", "http://example.com/a%20b"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://017700000001/", "http://127.0.0.1/"),
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://0x/", "http://0.0.0.0/"),
    ("http://127.0.0.1./", "http://127.0.0.1/"),
    ("http://\uff10\uff38\uff57\uff46.1/", None),
    ("http://\uff10\uff38\uff17\uff26.1/", "http://127.0.0.1/"),
    ("http://[::1]/", "http://[::1]/"),
    ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
    ("http://[::127.0.0.1]/", "http://[::7f00:1]/"),
    ("http://[::ffff:192.0.2.128]:8080/", "http://[::ffff:c000:280]:8080/"),
    ("http://[2001:DB8::A]/", "http://[2001:db8::a]/"),
    ("http://m\u00fcnchen.example/", "http://xn--mnchen-3ya.example/"),
    ("http://fa\u00df.example/", "http://xn--fa-hia.example/"),
    ("http://GO\u3002com/", "http://go.com/"),
    ("http://ex%41mple.com/", "http://example.com/"),
    ("http://%65%78.com/", "http://ex.com/"),
    ("http://a_b.example/", "http://a_b.example/"),
    ("http://example.com./", "http://example.com./"),
    ("http://example.com:/", "http://example.com/"),
    ("http://example.com:00080/", "http://example.com/"),
    ("http://example.com:65535/", "http://example.com:65535/"),
    ("http://a:b@c:29/d", "http://c:29/d"),
    ("http://a@b@c/", "http://c/"),
    ("http://example.com/?q='a'", "http://example.com/?q=%27a%27"),
    ('http://example.com/"<>`', "http://example.com/%22%3C%3E%60"),
    ("http://example.com:65536/", None),
    ("http://example.com:8o/", None),
    ("http://256.256.256.256/", None),
    ("http://1.2.3.4.5/", None),
    ("http://0x100000000/", None),
    ("http://a.b.c.0x4z1/", "http://a.b.c.0x4z1/"),
    ("http://foo.09/", None),
    ("http://[::1/", None),
    ("http://[:::1]/", None),
    ("http://[::1%25eth0]/", None),
    ("http://ex ample.com/", None),
    ("http://ex%23ample.com/", None),
    ("http://ex%00ample.com/", None),
    ("http://a<b/", None),
    ("http://\u00ad/", None),
    ("https://?q", None),
    ("http://@/", None),
]


@pytest.mark.parametrize(("spelt", "expected"), ABSOLUTE)
def test_absolute_urls_are_read_as_browsers_read_them(spelt: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InvalidURL):
            canonical(spelt)
    else:
        assert canonical(spelt) == expected


BASE = "http://example.org/foo/bar?x=1"
RELATIVE = [
    ("", "http://example.org/foo/bar?x=1"),
    ("  ", "http://example.org/foo/bar?x=1"),
    (".", "http://example.org/foo/"),
    ("..", "http://example.org/"),
    ("../../..", "http://example.org/"),
    ("baz", "http://example.org/foo/baz"),
    (" \n baz \t", "http://example.org/foo/baz"),
    ("b\taz", "http://example.org/foo/baz"),
    ("./baz#x", "http://example.org/foo/baz"),
    ("/baz", "http://example.org/baz"),
    ("\\baz", "http://example.org/baz"),
    ("?y=2", "http://example.org/foo/bar?y=2"),
    ("\t?y=2", "http://example.org/foo/bar?y=2"),
    ("//other.org/x", "http://other.org/x"),
    ("/\t/other.org/x", "http://other.org/x"),
    ("\\\\other.org\\x", "http://other.org/x"),
    ("/\\other.org/x", "http://other.org/x"),
    ("///other.org/x", "http://other.org/x"),
    ("http:baz", "http://example.org/foo/baz"),
    ("http: baz", "http://example.org/foo/%20baz"),
    ("http:/baz", "http://example.org/baz"),
    ("http:?y", "http://example.org/foo/bar?y"),
    ("http:", "http://example.org/foo/bar?x=1"),
    ("http: ", "http://example.org/foo/bar?x=1"),
    ("https:baz", "https://baz/"),
    ("https:/baz", "https://baz/"),
    ("HTTP://other.org", "http://other.org/"),
    (":baz", "http://example.org/foo/:baz"),
    ("1:2", "http://example.org/foo/1:2"),
    ("a b:c", "http://example.org/foo/a%20b:c"),
    ("foo/bar:baz", "http://example.org/foo/foo/bar:baz"),
]


@pytest.mark.parametrize(("href", "expected"), RELATIVE)
def test_relative_links_are_resolved_as_browsers_resolve_them(href: str, expected: str) -> None:
    resolver = Resolver(Scope(ScopeKind.ANY, [], (), ()), Traps((), 0), Params(), "host")
    assert resolver.resolve(BASE, [href]).urls == [expected]
