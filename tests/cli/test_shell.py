from __future__ import annotations

import json
from http.cookiejar import MozillaCookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from shoal.practice import Running
from tests.cli.conftest import Here, Shell


@pytest.fixture
def page(shoal: Shell) -> Path:
    path = shoal.folder / "page.html"
    path.write_text(
        "<title>Lamps</title><h1>Lamps</h1><p>Two of <b>them</b>.</p><a href=/1>Tall</a><a href=/2>Short</a>"
    )
    return path


def test_selectors_are_tried_on_a_fetched_page(shoal: Shell, site: Running) -> None:
    ran = shoal("shell", site.url(), "--allow-private", "-c", 'css("h3 a::attr(title)")[:2] + xpath("//h1/text()")')
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 3 and ran.out.splitlines()[-1] == "Pebble & Pine No. 1"
    assert [visit.path for visit in site.log()] == ["/robots.txt", "/"]
    assert not shoal.home.exists()


@pytest.mark.usefixtures("page")
def test_what_the_last_line_gives_is_printed(shoal: Shell) -> None:
    code = 'links = css("a::attr(href)")\n[page.url[:-1] + link for link in links]'
    assert shoal("shell", "page.html", "-c", code).out == "https://example.com/1\nhttps://example.com/2\n"
    assert shoal("shell", "page.html", "-c", "x = 1").out == ""
    assert shoal("shell", "page.html", "-c", 'page.css("b")').out == "them\n"


@pytest.mark.usefixtures("page")
def test_as_json_each_value_is_a_line(shoal: Shell) -> None:
    assert shoal("shell", "page.html", "--json", "-c", 'css("a")').lines == [{"value": "Tall"}, {"value": "Short"}]


def test_json_pages_have_paths_and_a_view(shoal: Shell) -> None:
    (shoal.folder / "data.json").write_text(json.dumps({"lamps": [{"price": 5.5}, {"price": 6}]}))
    assert shoal("shell", "data.json", "-c", 'json("$.lamps[*].price")').out == "5.5\n6\n"
    assert '"price": ' in shoal("shell", "data.json", "-c", "text()").out


@pytest.mark.usefixtures("page")
def test_the_page_is_shown_as_text(shoal: Shell) -> None:
    out = shoal("shell", "page.html", "-c", "text()").out
    assert "Two of" in out and "<p>" not in out


def test_a_page_that_is_not_there_is_not_looked_up_as_a_host(shoal: Shell) -> None:
    ran = shoal("shell", "nosuch.html", "-c", "page")
    assert (ran.code, ran.err) == (2, "error: there is no file nosuch.html; for a host write https://nosuch.html/\n")


@pytest.mark.usefixtures("page")
def test_faults_are_told_in_a_line(shoal: Shell) -> None:
    bad = shoal("shell", "page.html", "-c", 'css("h1[")')
    assert bad.code == 2 and "h1[" in bad.err and "Traceback" not in bad.err
    wrong = shoal("shell", "page.html", "-c", "x = 1\nx / 0")
    assert wrong.code == 2 and "ZeroDivisionError: division by zero (line 2)" in wrong.err
    assert shoal("shell", "page.html", "-c", "x =").code == 2


@pytest.mark.usefixtures("page")
def test_the_prompt_goes_on_after_a_fault(shoal: Shell) -> None:
    ran = shoal("shell", "page.html", input='css("h1[")\ncss("h1")\n1 / 0\npage\n')
    assert ran.code == 0
    assert "'Lamps'" in ran.out and "200 text/html" in ran.out
    assert "ZeroDivisionError" in ran.err and "BadSelector" not in ran.err and "h1[" in ran.err


def test_neither_body_nor_headers_nor_password_are_shown_with_the_page(shoal: Shell, site: Running) -> None:
    url = site.url().replace("//", "//ann:hunter2@")
    ran = shoal("shell", url, "--allow-private", "--header", "X-Key: hunter2", "-c", "page")
    assert ran.out.startswith(f"{site.url()}: 200 text/html, ")
    assert len(ran.out.splitlines()) == 1 and "hunter2" not in ran.out + ran.err
    assert "hunter2" not in shoal("shell", url).err


def test_an_answer_that_is_no_page_can_be_looked_at_and_none_is_exit_4(shoal: Shell, site: Running) -> None:
    assert shoal("shell", site.url("/nowhere"), "--allow-private", "-c", "page.status").out == "404\n"
    ran = shoal("shell", site.url(), "-c", "page.status")
    assert ran.code == 4 and "--allow-private" in ran.err


def test_redirects_are_followed_to_the_page(shoal: Shell, site: Running) -> None:
    ran = shoal("shell", site.url("/index.html"), "--allow-private", "-c", "page.url")
    assert ran.out == f"{site.url()}\n"
    assert [visit.path for visit in site.log()] == ["/robots.txt", "/index.html", "/"]


def test_redirects_that_lead_nowhere_are_exit_4(shoal: Shell, troubled_site: Running) -> None:
    ran = shoal("shell", troubled_site.url("/old/basket"), "--allow-private", "-c", "page")
    assert ran.code == 4 and "more than 20 redirects" in ran.err


def test_text_from_a_page_cannot_steer_the_terminal(shoal: Shell) -> None:
    (shoal.folder / "evil.html").write_text("<title>\x1b[2Jx</title><h1>\x1b[2Jx</h1>")
    for code in ('css("h1")', "view()", "page"):
        assert "\x1b" not in shoal("shell", "evil.html", "-c", code).out
    ran = shoal("shell", "evil.html", input='css("h1")\npage.title\npage\n')
    assert "\x1b" not in ran.out + ran.err


def test_another_page_is_fetched_from_the_prompt(shoal: Shell, site: Running) -> None:
    code = 'fetch("/about.html")\n[page.url, *css("h1")]'
    url, heading = shoal("shell", site.url(), "--allow-private", "-c", code).out.splitlines()
    assert url == site.url("/about.html") and heading
    assert [visit.path for visit in site.log()] == ["/robots.txt", "/", "/robots.txt", "/about.html"]


def test_a_page_of_a_job_is_opened_from_its_archive(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "2", "--name", "shop")
    fetched = len(site.log())
    ran = shoal("shell", "shop", site.url(), "-c", 'xpath("//h1/text()")')
    assert (ran.code, ran.out) == (0, "Pebble & Pine No. 1\n")
    assert len(site.log()) == fetched, "nothing is fetched"


def test_an_archived_page_has_the_status_and_type_of_its_record(shoal: Shell, troubled_site: Running) -> None:
    urls = [troubled_site.url(path) for path in ("/pages/sale-2019.html", "/old/catalogue", "/feed.xml")]
    shoal.crawl(*urls, "--scope", "listed", "--name", "shop")
    gone, moved, feed = (shoal("shell", "shop", url, "-c", "page").out for url in urls)
    assert gone.startswith(f"{urls[0]}: 404 text/html, ")
    assert moved.startswith(troubled_site.url()) and ": 200 text/html, " in moved, "a redirect leads to its page"
    assert f"{urls[2]}: 200 application/rss+xml, " in feed


def test_a_url_that_a_job_has_no_page_of_is_named(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "1", "--name", "shop").summary["job"]
    url = site.url("/none.html")
    missing = shoal("shell", "shop", url, "-c", "page")
    assert missing.code == 2
    assert f"job {job} has no page {url}: `shoal explain {job} {url}` says why" in missing.err
    alone = shoal("shell", "last", "-c", "page")
    assert (alone.code, alone.err) == (
        2,
        "error: 'last' is not a URL; for a page of a job give its URL, too: `shoal shell last URL`\n",
    )


@pytest.mark.usefixtures("page")
def test_view_opens_the_page_in_a_browser_with_its_address(shoal: Here) -> None:
    browser = shoal.folder / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shoal.folder}/opened\n')
    browser.chmod(0o755)
    ran = shoal.apart("shell", "page.html", "-c", "view()", env={"BROWSER": str(browser)})
    assert ran.code == 0 and "opened in your browser: " in ran.err
    opened = Path((shoal.folder / "opened").read_text().removeprefix("file://"))
    assert opened.suffix == ".html" and opened.read_text("utf-8-sig").startswith('<base href="https://example.com/">')
    opened.unlink()


def test_cookies_of_a_file_open_a_page_that_requires_a_login(shoal: Shell, site: Running) -> None:
    jar = MozillaCookieJar(shoal.folder / "cookies.txt")
    browser = build_opener(HTTPCookieProcessor(jar))
    login, orders = site.url("/account/login.html"), site.url("/account/orders.html")
    form = browser.open(login).read().decode()
    fields = {"token": form.partition('name="token" value="')[2].partition('"')[0], "user": "ann", "password": "pebble"}
    browser.open(login, urlencode(fields).encode()).close()
    jar.save(ignore_discard=True)
    given = ("--allow-private", "--cookie-file", "cookies.txt")
    assert shoal("shell", orders, *given, "-c", 'css("h1")').out == "Your orders\n"
    assert shoal("shell", orders, "--allow-private", "-c", 'css("h1")').out == "Log in\n"
    (shoal.folder / "orders.yaml").write_text(
        f"name: orders\nstart: {orders}\nitems: [{{name: Order, each: '#orders tr', fields: {{text: {{css: td}}}}}}]\n"
    )
    ran = shoal("check", "orders.yaml", "--url", orders, *given, "--json")
    assert (ran.code, ran.summary["items"]) == (0, 5), ran.err
    refused = shoal("check", "orders.yaml", "--url", orders, "--cookie-file", "none.txt")
    assert refused.code == 2 and "cannot read 'none.txt'" in refused.err
