"""`shoal proxies`: named pools, how each proxy works, and a test of each."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.proxies.bad_proxy import BadProxy, LoggedSite, in_thread
from tests.proxies.proxy_servers import tinyproxy


def test_a_named_pool_is_kept_used_shown_tested_and_removed(shoal: Shell, site: Running, tmp_path: Path) -> None:
    with tinyproxy(tmp_path, "127.0.0.2", password="hush") as port:
        listed = (
            f"http://ann:{{secret:ACME}}@127.0.0.1:{port} provider=acme region=de price=0.5/request\nhttp://127.0.0.1:1"
        )
        (shoal.folder / "europe.txt").write_text(listed)
        env = {"SHOAL_SECRET_ACME": "hush"}
        assert "there is no pool of proxies yet" in shoal("proxies").err
        assert "pool europe has 2 proxies" in shoal("proxies", "add", "europe", "europe.txt").err
        tested = shoal("proxies", "test", "europe", "--url", site.url(), "--allow-private", env=env)
        assert tested.code == 0 and "1 of 2 proxies works" in tested.err
        ran = shoal("crawl", site.url(), "--allow-private", "--proxies", "europe", "--max-pages", "5", env=env)
        assert ran.code == 0, ran.err
        pool = json.loads(shoal("proxies", "europe", "--json").out)
        good, bad = pool["proxies"]
        # tinyproxy may close a connection at the moment when the next request goes there.
        assert (good["state"], good["provider"]) == ("works", "acme") and good["success_share"] > 0.5
        # robots.txt costs as well.
        assert good["requests"] >= 5 and 3 <= good["cost"] <= (good["requests"] + 1) * 0.5
        assert bad["state"] in ("new", "cooling")
        assert pool["hosts"][0]["best_provider"] == "acme"
        (summary,) = (json.loads(line) for line in shoal("proxies", "--json").out.splitlines())
        assert (summary["pool"], summary["proxies"], summary["source"]) == ("europe", 2, "store")
        assert f"via 127.0.0.1:{port}" in shoal("explain", "last", site.url()).out
        shown = [
            shoal(*words).out for words in (["proxies"], ["proxies", "europe"], ["job", "last"], ["pages", "last"])
        ]
        everything = "".join([*shown, ran.out, ran.err, tested.out, tested.err])
        assert "acme" in everything and "hush" not in everything
    assert b"hush" not in (shoal.home / "shoal.db").read_bytes()
    gone = shoal("proxies", "test", "europe", "--url", site.url(), "--allow-private", env=env)
    assert gone.code == 4 and "no proxy works" in gone.err
    assert shoal("proxies", "remove", "europe").code == 0
    assert "there is no pool of proxies named 'europe'" in shoal("proxies", "europe").err


def test_a_bad_list_in_the_settings_hides_no_other_pool(shoal: Shell) -> None:
    (shoal.folder / "bad.txt").write_text("gate:8000 ann:hush")
    (shoal.folder / "good.txt").write_text("http://a:1")
    env = {"SHOAL_PROXIES_BAD": "bad.txt", "SHOAL_PROXIES_GOOD": "good.txt"}
    shown = shoal("proxies", env=env)
    assert shown.code == 0 and "good" in shown.out, shown.err
    assert "pool bad cannot be used: line 1 of the proxies" in shown.err and "hush" not in shown.err
    assert "pool bad cannot be used" in shoal("proxies", "bad", env=env).err


def test_a_list_with_a_password_is_not_kept_and_a_fault_is_named(shoal: Shell, site: Running) -> None:
    (shoal.folder / "bad.txt").write_text("http://ann:hush@a:1")
    refused = shoal("proxies", "add", "bad", "bad.txt")
    assert refused.code == 2 and "{secret:NAME}" in refused.err and "hush" not in refused.err
    for words, why in {
        ("--proxies", "nowhere"): "no pool of proxies is named nowhere",
        ("--region", "de"): "--region needs proxies",
        ("--proxy", "http://127.0.0.1:1", "--region", "de"): "no proxy of job",
    }.items():
        wrong = shoal("crawl", site.url(), "--allow-private", *words)
        assert wrong.code == 2 and why in wrong.err, wrong.err


def test_commands_that_fetch_without_a_job_use_the_proxies_too(shoal: Shell) -> None:
    site, proxy = LoggedSite(), BadProxy("good", "127.0.0.9")
    with in_thread(site, proxy):
        (shoal.folder / "list.txt").write_text(proxy.url)
        (shoal.folder / "shoal.toml").write_text('[crawl]\nproxy_pool = "europe"\nallow_private = true\nrate = 5\n')
        (shoal.folder / "shop.yaml").write_text(f"start: [{site.url}]\nitems: [{{fields: {{t: title}}}}]\n")
        commands = (
            ("check", "shop.yaml", "--url", site.url),
            ("shell", site.url, "-c", "page.url"),
            ("crawl", site.url, "--dry-run"),
        )
        # A pool that is not there is never left out.
        assert {shoal(*words).code for words in commands} == {2} and not site.visits
        assert shoal("proxies", "add", "europe", "list.txt").code == 0
        ran = [shoal(*words) for words in commands]
        assert [one.code for one in ran] == [0, 0, 0], [one.err for one in ran]
        assert "options from shoal.toml: proxy_pool, allow_private\n" in ran[0].err
        assert site.addresses == {"127.0.0.9"} and len(site.visits) == 5
