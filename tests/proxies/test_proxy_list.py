"""Lists of proxies, as people and providers write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shoal.engine.proxies.load_pool import ProxySettings, load_pool
from shoal.errors import UsageError
from shoal.model import JobSpec, Render
from shoal.model.proxy_list import CostLimit, check_no_password, cost_limit, read_proxies, with_secrets


def test_every_form_of_a_line_is_read() -> None:
    proxies = read_proxies(
        """
        # a comment
        http://proxy.example:3128            # another
        203.0.113.7:8080:ann:p%w
        socks5h://[2001:db8::7]:1080  region=de provider=acme tier=2 weight=3 price=4/GB concurrency=8 rate=2
        http://ann-{session}-{region}:{secret:ACME}@gate.example:8000 price=0.001/request
        http://bob@gate.example:8000 dns=remote
        """
    )
    first, login, socks, gateway, second = with_secrets(proxies, {"acme": "p/w"})
    assert (first.url, first.name, first.tier, first.weight) == (
        "http://proxy.example:3128",
        "proxy.example:3128",
        1,
        1,
    )
    assert (login.url, login.name) == ("http://ann:p%25w@203.0.113.7:8080", "203.0.113.7:8080")
    assert (socks.name, socks.region, socks.provider, socks.tier) == ("[2001:db8::7]:1080", "de", "acme", 2)
    assert (socks.weight, socks.concurrency, socks.rate, socks.cost(10**9)) == (3, 8, 2, 4)
    assert gateway.url_for("s1", "fr") == "http://ann-s1-fr:p%2Fw@gate.example:8000" and gateway.serves("fr")
    assert gateway.cost(10**9) == 0.001 and not socks.serves("fr")
    assert second.name == "gate.example:8000#2" and second.remote_dns


def test_a_list_may_limit_what_all_jobs_spend_on_it() -> None:
    text = "http://a.test:1  # dear\nmax_cost=12.5/month  # of the team\n"
    assert cost_limit(text) == CostLimit(12.5, "month") and [proxy.name for proxy in read_proxies(text)] == ["a.test:1"]
    assert cost_limit("http://a.test:1") is None
    now = datetime(2026, 3, 17, 23, 59, tzinfo=UTC)
    day = (now - datetime(1970, 1, 1, tzinfo=UTC)).days
    assert [CostLimit(1, period).begins(now) for period in ("", "day", "month")] == [0, day, day - 16]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("http://a:1\nftp://ann:hush@b:1", "line 2 of the proxies: it begins with no proxy"),
        ("http://gate:8000:ann:hush", "line 1 of the proxies: it begins with no proxy"),
        ("gate:8000 ann:hush", "region="),
        ("gate:8000 ann:hush=", "region="),
        ("http://ann:{hush}@a:1", "cannot be filled in"),
        ('{"url": "https://a/{url}", "headers": "Authorization: hush"}', "headers of a recipe must be an object"),
        ("http://a:1 colour=red", "is no attribute"),
        ("http://a:1 price=free", "price=0.001/request"),
        ("http://a:1 tier=0", "tier=2"),
        ("http://a:1\nmax_cost=cheap", "line 2 of the proxies: max_cost=cheap is no limit of cost"),
    ],
)
def test_a_fault_names_the_line_and_no_password(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_proxies(text)
    assert why in str(refused.value) and "hush" not in str(refused.value)


PROVIDER = '{"url": "https://api.example/", "query": {"url": "{url}"}}'


def test_a_job_that_renders_uses_only_proxies_that_carry_browsers() -> None:
    def pool(render: Render, *proxies: str) -> list[str]:
        spec = JobSpec("site", render=render, proxy_pool="\n".join(proxies))
        found = load_pool(spec, "1", None, ProxySettings())
        assert found is not None
        return [proxy.name for proxy in found.proxies]

    unusable = (PROVIDER, "https://a:1")
    for render in (Render.ALWAYS, Render.AUTO):
        assert pool(render, *unusable, "http://b:1", "socks4a://c:1") == ["b:1", "c:1"]
        with pytest.raises(UsageError, match="no proxy of job 1 can be used for rendering"):
            pool(render, *unusable)
    assert len(pool(Render.NEVER, *unusable)) == 2


def test_a_stored_pool_names_its_passwords() -> None:
    check_no_password(read_proxies("http://ann:{secret:ACME}@a:1"))
    with pytest.raises(UsageError, match="proxy a:1 has a password") as refused:
        check_no_password(read_proxies("http://ann:hush@a:1"))
    assert "hush" not in str(refused.value)
    check_no_password(read_proxies("http://{secret:ACME}@a:1\nhttp://{secret:ACME}:@a:1"))
    for key in ("http://hush@a:1", "http://hush:@a:1"):
        with pytest.raises(UsageError, match="proxy a:1 has a user name without a password, which may be") as refused:
            check_no_password(read_proxies(key))
        assert "hush" not in str(refused.value)
    with pytest.raises(UsageError, match="SHOAL_SECRET_ACME"):
        with_secrets(read_proxies("http://ann:{secret:ACME}@a:1"), {})
