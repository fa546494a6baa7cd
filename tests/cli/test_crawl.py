"""`shoal crawl` and `shoal resume` as their users meet them: what is asked for, what comes back, what can go wrong."""

from __future__ import annotations

import csv
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.practice import Running, Shop, running
from tests.cli.conftest import TIMEOUT_S, Shell
from tests.frontier.redis_server import free_port
from tests.politeness import assert_polite

ALLOWED = ("--allow-private", "--rate", "0")


def truth_of(site: Running, shop: Shop) -> dict[str, int]:
    return {
        site.url(path, host): status for host, known in shop.truth().items() for path, status in known.pages.items()
    }


def test_a_crawl_stores_every_page_and_writes_it(shoal: Shell, site: Running) -> None:
    ran = Shell(shoal.folder).crawl(site.url(), "-o", "pages.jsonl")
    assert ran.code == 0, ran.err
    shop = Shop(hosts=1, categories=2, products=12, troubled=False)
    records = [json.loads(line) for line in (shoal.folder / "pages.jsonl").read_text().splitlines()]
    assert {record["url"]: record["status"] for record in records} == truth_of(site, shop)
    assert ran.summary["pages"] == len(records)
    product = next(record for record in records if "/product/" in record["url"])
    assert product["title"] and product["text"] and product["links"] and product["description"]
    assert list(product)[:4] == ["url", "final_url", "status", "depth"]


def test_what_to_type_next_works_where_shoal_is_not_on_the_path(shoal: Shell, site: Running) -> None:
    script = shoal.folder / "bin" / "shoal"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom shoal.__main__ import main\nmain()\n")
    script.chmod(0o700)
    told = {}
    for path in ("/nowhere", str(script.parent)):
        words = ["bin/shoal", "crawl", site.url(), "--allow-private", "--max-pages", "1"]
        env = {**shoal.environment, "PATH": path}
        told[path] = subprocess.run(words, cwd=shoal.folder, env=env, capture_output=True, text=True, check=True).stderr
    assert "see also: bin/shoal job " in told["/nowhere"]
    assert "see also: shoal job " in told[str(script.parent)]


def test_the_summary_has_the_fields_of_the_interface(shoal: Shell, site: Running) -> None:
    summary = shoal.crawl(site.url(), "--max-pages", "3").summary
    names = "type job name state pages redirects items rejected dropped_items dead dropped skipped by_status bytes"
    more = "seconds pages_per_second hosts traps archive_bytes unarchived changed unchanged no_items unmatched"
    newest = "on_finish_error nofollow_starts sinks merged changes shapes rendered assets cost"
    assert list(summary) == [*names.split(), *more.split(), *newest.split()]
    assert (summary["state"], summary["pages"]) == ("limited", 3)


def test_redirects_dead_letters_and_refusals_end_as_the_site_says(shoal: Shell, tmp_path: Path) -> None:
    shop = Shop(hosts=2, categories=2, products=12)
    with running(shop, log=tmp_path / "site.log") as site:
        ran = shoal.crawl(
            site.url(), "--scope", "any", "--exclude", "outside.invalid", "--retries", "0", "-o", "p.jsonl"
        )
    truth = shop.truth()
    records = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    pages = {record["url"]: record["status"] for record in records}
    # Without retries the page that answers 503 twice is dead as well.
    expected = {url: status for url, status in truth_of(site, shop).items() if not url.endswith("/pages/stock.html")}
    assert pages == expected
    assert ran.summary["redirects"] == sum(len(known.redirects) for known in truth.values())
    assert ran.summary["dead"] == sum(len(known.dead) for known in truth.values()) + 1
    assert ran.summary["dropped"] == {"robots": 1}


def test_the_rate_holds_in_the_sites_own_log(shoal: Shell, site: Running) -> None:
    shoal("crawl", site.url(), "--allow-private", "--rate", "5", "--max-pages", "12", "--quiet")
    assert_polite(site.log(), rate=5, per_host=2)


def test_a_list_fetches_just_what_it_lists(shoal: Shell, site: Running) -> None:
    lines = [
        "\ufeff# a comment",
        site.url("/"),
        "",
        "ftp://example.com/x",
        site.url("/#top"),
        "http://[bad",
        site.url("/robots.txt"),
    ]
    (shoal.folder / "urls.txt").write_text("\r\n".join(lines))
    ran = shoal("crawl", "@urls.txt", *ALLOWED)
    assert ran.code == 0
    first = ran.err.splitlines()
    assert "line 4: 'ftp://example.com/x': is not an http or https URL" in first[0]
    assert "line 6" in first[1]
    assert first[2].startswith("scope listed: 2 URLs")
    assert [entry.path for entry in site.log() if entry.path != "/robots.txt"] == ["/"]


def test_a_list_with_one_url_is_described_in_the_singular(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", "-", *ALLOWED, input=site.url())
    assert ran.err.startswith("scope listed: 1 URL is fetched, its links are not followed")


def test_strict_lists_stop_before_any_request(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", "-", "--strict", *ALLOWED, input=f"{site.url()}\nnot a url\n")
    assert ran.code == 2
    assert "line 2" in ran.err
    assert site.log() == []
    assert shoal("jobs", "--json").lines == []


def test_csv_output_and_csv_lists(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shops.csv").write_text(f"name,site\nPine,{site.url()}\n")
    ran = shoal.crawl("@shops.csv", "--column", "site", "-o", "pages.csv")
    assert ran.code == 0, ran.err
    with (shoal.folder / "pages.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["url"], row["status"]) == (site.url(), "200")


def test_stdout_takes_the_records(shoal: Shell, site: Running) -> None:
    ran = Shell(shoal.folder)("crawl", site.url(), *ALLOWED, "--max-pages", "2", "-o", "-")
    assert [json.loads(line)["status"] for line in ran.out.splitlines()] == [200, 200]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crawl", "http://127.0.0.1/", "--unknown"], "No such option"),
        (
            ["export", "last", "--mirror", "x", "--scope", "host"],
            "--scope is an option of `shoal crawl`: give it when you crawl",
        ),
        (
            ["crawl", "http://127.0.0.1/", "--name", "last"],
            "a job cannot have the name last: every command takes it for",
        ),
        (["crawl", "http://127.0.0.1/", "--exclude", "re:["], "exclude pattern 're:['"),
        (["crawl", "@missing.txt"], "missing.txt"),
        (["crawl", "http://127.0.0.1/", "-o", "no/such/dir/out.jsonl"], "no/such/dir"),
        (["crawl", "http://127.0.0.1/", "-o", "out.xlsx"], ".jsonl"),
        (["crawl", "http://127.0.0.1/", "--header", "nonsense"], "--header"),
        (["crawl", "http://127.0.0.1/", "--rate", "-1"], "--rate"),
        (["crawl", "http://127.0.0.1/", "--max-bytes", "many"], "many"),
        (["crawl", "http://127.0.0.1/", "--max-pages", "0"], "'0' cannot be used: give a whole number from 1 to 10^15"),
        (["crawl", "http://127.0.0.1/", "--per-host", "1e3"], "'1e3' cannot be used: give a whole number from 1"),
        (["crawl", "http://127.0.0.1/", "--priority", "1.5"], "'1.5' cannot be used: give a whole number from -1"),
        (["crawl", "http://127.0.0.1/", "--retries", "1001"], "give a whole number from 0 to 1,000"),
        (["jobs", "--limit", "9" * 30], "give a whole number from 1 to 10^15"),
        (["crawl", "http://127.0.0.1/", "--max-change", "some"], "'some' is not a valid number"),
        (["crawl", "http://127.0.0.1/", "--proxy", "nowhere"], "--proxy"),
        (["crawl", "javascript:alert(1)"], "http or https"),
        (["crawl"], "SOURCE"),
        (["crawl", "http://127.0.0.1/", "--home", "/dev/null/x"], "/dev/null/x"),
        (["resume", "nothing"], "no home"),
        (["https://example.com"], "shoal crawl https://example.com"),
        (["crwal", "https://example.com"], "No such command 'crwal'. Did you mean crawl?"),
        (["crawl", "not a url"], "'not a url' is not a URL\nerror: none of the sources"),
        (["crawl", "http://127.0.0.1/", "ann@example.com", "--strict"], "error: 1 bad line, and --strict was given"),
    ],
)
def test_invalid_options_are_reported_before_any_request(shoal: Shell, arguments: list[str], words: str) -> None:
    ran = shoal(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_an_unwritable_output_is_found_before_any_request(shoal: Shell, site: Running) -> None:
    (shoal.folder / "out.jsonl").mkdir()
    assert shoal("crawl", site.url(), *ALLOWED, "-o", "out.jsonl").code == 2
    assert site.log() == []


def test_a_server_that_is_down_ends_with_4(shoal: Shell) -> None:
    ran = shoal.crawl(f"http://127.0.0.1:{free_port()}/", "--retries", "1")
    assert ran.code == 4
    assert ran.summary["state"] == "failed"
    kinds = {line["kind"] for line in ran.lines if line["type"] == "error"}
    assert "connect" in kinds <= {"connect", "unreachable"}


def test_robots_that_refuses_all_ends_with_4_and_says_so(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url("/private/cellar.html"), *ALLOWED)
    assert ran.code == 4
    assert "robots.txt refuses" in ran.err
    told = shoal("crawl", site.url("/private/cellar.html"), *ALLOWED, "--json").lines[-1]
    assert (told["type"], told["code"]) == ("exit_error", 4)
    assert "robots.txt refuses" in told["message"]
    assert {entry.path for entry in site.log()} == {"/robots.txt"}


def test_a_private_address_needs_allow_private(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url())
    assert ran.code == 4
    assert "--allow-private" in ran.err
    assert site.log() == []
    allowed = shoal("crawl", site.url(), "--max-pages", "1", env={"SHOAL_ALLOW_PRIVATE": "on"})
    assert allowed.code == 0


def test_a_site_that_refuses_throughout_ends_with_7(shoal: Shell, site: Running) -> None:
    site.control(status=403)
    ran = shoal("crawl", site.url(), *ALLOWED, "--ignore-robots")
    assert ran.code == 7
    assert "refus" in ran.err


def test_limits_and_failure_rates_have_their_codes(shoal: Shell, site: Running) -> None:
    assert shoal.crawl(site.url(), "--max-pages", "2", "--error-on-limit").code == 6
    seeds = [site.url(), site.url("/nowhere")]
    assert shoal.crawl(*seeds, "--max-pages", "2").code == 0
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        ran = shoal.crawl(site.url(), dead, "--max-depth", "0", "--retries", "0", "--max-failure-rate", "0.2")
    assert (ran.code, ran.summary["state"]) == (3, "failed")


def test_ctrl_c_once_saves_and_resume_continues(shoal: Shell, tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=2, products=40, troubled=False)
    with running(shop, log=tmp_path / "site.log", latency_ms=20) as site:
        # So slow that it does not end by itself.
        with shoal.start("crawl", site.url(), "--allow-private", "--rate", "4", "-o", "pages.jsonl") as process:
            wait_until(lambda: len(site.log()) > 3)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 130
        assert "stopping" in err
        assert "resume: shoal resume " in err
        asked = len(site.log())
        assert shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100").code == 0
        ran = shoal("resume", "last", "--json")
        assert ran.code == 0
        truth = truth_of(site, shop)
        assert ran.summary["pages"] == len(truth)
        # A graceful stop repeats nothing: every page was asked for once, robots.txt as well.
        assert len(site.log()) == len(truth) + ran.summary["redirects"] + 1
        assert asked < len(truth)
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == len(truth)


def test_ctrl_c_twice_stops_at_once_and_is_resumable(shoal: Shell, site: Running) -> None:
    site.control(latency_ms=30_000)
    with shoal.start("crawl", site.url(), *ALLOWED) as process:
        wait_until(lambda: any(job["leased"] for job in shoal("jobs", "--json").lines))
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "stopping" not in process.stderr.readline():
            assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert time.monotonic() - began < 10, "told once it would have waited so long"
    site.control(latency_ms=0)
    assert shoal("resume", "last", "--quiet").code == 0


@pytest.mark.parametrize("name", ["shoal.db", "frontier.db"])
def test_a_file_that_is_no_database_is_a_clear_error(shoal: Shell, name: str) -> None:
    shoal.home.mkdir()
    (shoal.home / name).write_text("these are not the bytes you are looking for " * 100)
    ran = shoal("crawl", "http://127.0.0.1:9/", *ALLOWED)
    assert ran.code == 2
    assert name in ran.err
    assert "Traceback" not in ran.err


def test_a_home_from_a_newer_version_is_a_clear_error_and_gets_no_job(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    with sqlite3.connect(shoal.home / "frontier.db") as db:
        db.execute("PRAGMA user_version = 99")
    ran = shoal("crawl", site.url(), *ALLOWED)
    assert ran.code == 2
    assert ran.err.startswith("error: ") and "newer" in ran.err
    with sqlite3.connect(shoal.home / "shoal.db") as db:
        assert db.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_a_locked_home_is_a_clear_error(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    with sqlite3.connect(shoal.home / "shoal.db", isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        ran = shoal("crawl", site.url(), *ALLOWED)
        db.execute("ROLLBACK")
    assert ran.code == 5
    assert "shoal.db" in ran.err


def test_errors_are_json_when_json_is_asked_for(shoal: Shell) -> None:
    ran = shoal("crawl", "@missing.txt", "--json")
    assert ran.code == 2
    (line,) = ran.lines
    assert (line["type"], line["code"]) == ("exit_error", 2)
    assert "missing.txt" in line["message"]


def test_quiet_says_nothing_and_no_color_colours_nothing(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), *ALLOWED, "--max-pages", "1", "--quiet")
    assert (ran.out, ran.err) == ("", "")
    limited = shoal("crawl", site.url(), *ALLOWED, "--max-pages", "1", "--error-on-limit", "--quiet")
    assert (limited.code, limited.err) == (6, "error: its limit of pages is reached\n")
    plain = shoal("crawl", site.url(), *ALLOWED, "--max-pages", "1", env={"NO_COLOR": "1"})
    assert "\x1b[" not in plain.err


def test_credentials_in_a_url_are_used_and_shown_nowhere(shoal: Shell, site: Running) -> None:
    secret = site.url().replace("http://", "http://ann:sesame@")
    ran = shoal("crawl", secret, *ALLOWED, "--max-pages", "2", "-o", "out.jsonl")
    shown = ran.out + ran.err + (shoal.folder / "out.jsonl").read_text()
    shown += shoal("job", "last").out + shoal("job", "last", "--json").out
    shown += shoal("export", "last", "--inputs", "-o", "-").out
    assert "sesame" not in shown
    assert ran.code == 0


def wait_until(holds: object, deadline_s: float = TIMEOUT_S) -> None:
    assert callable(holds)
    give_up = time.monotonic() + deadline_s
    while not holds():
        assert time.monotonic() < give_up, "it did not come to that in time"
        time.sleep(0.05)


def test_a_cookie_file_gives_the_login(shoal: Shell, site: Running) -> None:
    line = f"{site.addresses[0]}\tFALSE\t/\tFALSE\t0\tsession\thush"
    (shoal.folder / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\n{line}\n")
    ran = shoal.crawl(site.url(), "--max-pages", "1", "--cookie-file", "cookies.txt")
    assert ran.code == 0 and "1 cookie" in shoal("job", "last").out
    shown = shoal("job", "last").out + shoal("job", "last", "--json").out
    assert "hush" not in shown
    refused = shoal("crawl", site.url(), "--cookie-file", "none.txt")
    assert refused.code == 2 and "cannot read 'none.txt'" in refused.err


def test_a_csv_without_a_column_names_the_flag(shoal: Shell) -> None:
    (shoal.folder / "shops.csv").write_text("id,url\n1,https://a.example/\n")
    ran = shoal("crawl", "@shops.csv")
    assert ran.code == 2 and "--column NAME" in ran.err


def test_no_command_for_a_job_is_shown_where_none_is_made(shoal: Shell, site: Running) -> None:
    (shoal.folder / "list.txt").write_text("mailto:x\n" * 30 + f"{site.url()}\n")
    hint = "`shoal export ID --inputs` has them all"
    assert hint in shoal("crawl", "@list.txt", "--allow-private").err
    refused = shoal("crawl", "@list.txt", "--strict").err
    assert "and 10 more bad lines" in refused and "export" not in refused
    (shoal.folder / "list.txt").write_text("mailto:x\n" * 30)
    assert "export" not in shoal("crawl", "@list.txt").err
    assert len(shoal("jobs", "--json").lines) == 1


def test_a_person_reads_words_and_a_program_codes(shoal: Shell, site: Running) -> None:
    err = shoal("crawl", site.url(), "--allow-private", "--max-depth", "0").err
    skipped = shoal("job", "last", "--json").lines[0]["skipped"]
    words = f"{skipped.pop('too_deep')} too deep\n"
    assert not skipped
    assert f"  links skipped: {words}" in err
    assert f"skipped     {words}" in shoal("job", "last").out
    assert "dropped by the address guard" in shoal("crawl", site.url()).err


def test_links_that_leave_a_list_are_no_news(shoal: Shell, site: Running) -> None:
    (shoal.folder / "list.txt").write_text(f"{site.url('/about.html')}\n")
    assert "outside the scope" not in shoal("crawl", "@list.txt", "--allow-private").err
    assert "outside the scope" not in shoal("job", "last").out
    assert shoal("job", "last", "--json").lines[0]["skipped"]["off_scope"] > 0


def test_ranges_in_start_urls_are_expanded_on_the_command_line_and_in_rules(shoal: Shell, site: Running) -> None:
    paths = "/{about,contact}.html"
    rules = f"start: '{site.url(paths)}'\nitems: [{{fields: {{t: title}}}}]\n"
    (shoal.folder / "pages.yaml").write_text(rules)
    for words in ((site.url(paths), "--max-depth", "0"), ("pages.yaml",)):
        assert shoal.crawl(*words).summary["pages"] == 2
        urls = {page["url"] for page in shoal("pages", "last", "--json").lines}
        assert urls == {site.url("/about.html"), site.url("/contact.html")}
    refused = shoal("crawl", site.url("/{1..99999}"))
    assert refused.code == 2 and "more than 10,000 URLs" in refused.err
    (shoal.folder / "pages.yaml").write_text(rules.replace(paths, "/{1..99999}"))
    assert "pages.yaml:1:8: start: the ranges of" in shoal("crawl", "pages.yaml").err
