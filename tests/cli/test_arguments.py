"""`-a KEY=VALUE`, from outside: a crawl, what is refused before it, extracting again, and what is shown."""

from __future__ import annotations

from shoal.practice import Running
from tests.cli.conftest import Shell

SHOP = """\
from shoal import Page, spider

@spider("{url}category/{category}/index.html", allow_private=True, rate=0)
def shop(page: Page, category: str, limit: int = 100, api_key: str = ""):
    for request in list(page.follow("h3 a", to=detail))[:limit]:
        yield request

@shop.callback
def detail(page: Page, limit: int):
    yield {"limit": limit, "title": page.title}
"""


def test_a_spider_gets_its_arguments_in_a_crawl_and_when_it_is_extracted_again(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shop.py").write_text(SHOP.replace("{url}", site.url()))
    ran = shoal("crawl", "shop.py", "-a", "category=garden", "-a", "limit=2", "-a", "api_key=hush", "--json")
    assert (ran.code, ran.summary["items"], ran.summary["pages"]) == (0, 2, 3), ran.err
    assert {item["limit"] for item in shoal("items", "last", "--json").lines} == {2}
    shown = shoal("job", "last")
    assert "category=garden, limit=2, api_key=***" in shown.out
    assert "hush" not in shown.out + shoal("job", "last", "--json").out
    again = shoal("extract", "last", "--spider", "shop.py", "--processes", "1")
    assert again.code == 0, again.err
    assert {item["limit"] for item in shoal("items", "last", "--json").lines} == {2}


def test_missing_and_unknown_arguments_are_refused_before_the_crawl(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shop.py").write_text(SHOP.replace("{url}", site.url()))
    ran = shoal("crawl", "shop.py", "-a", "limt=2")
    assert ran.code == 2
    assert "has no argument limt (did you mean limit?)" in ran.err
    assert "needs category: give -a category=..." in ran.err
    assert not shoal.home.exists()
    assert shoal("crawl", site.url(), "-a", "a=1").code == 2
    assert "'category' cannot be used: give NAME=VALUE" in shoal("crawl", "shop.py", "-a", "category").err


def test_check_takes_arguments_too(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shop.py").write_text(SHOP.replace("{url}", site.url()))
    assert "needs category" in shoal("check", "shop.py").err
    ran = shoal("check", "shop.py", "-a", "category=garden")
    assert ran.code == 0 and "/category/garden/index.html" in ran.out
