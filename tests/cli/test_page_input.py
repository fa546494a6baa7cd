"""The columns of an input list at hand in callbacks, from outside: a crawl, a resume, and extracting again."""

from __future__ import annotations

import json
from typing import Any

from shoal.practice import Running
from tests.cli.conftest import Shell

SHOP = """\
from shoal import Page, spider

@spider(allow_private=True, rate=0, scope="host")
def shop(page: Page):
    yield {"at": "list", "sku": page.input["sku"], "note": page.input.get("note")}
    yield from list(page.follow("h3 a", to=detail))[:1]

@shop.callback
def detail(page: Page):
    yield {"at": "detail", "sku": page.input["sku"], "note": page.input.get("note")}
"""


def items(shoal: Shell) -> list[dict[str, Any]]:
    return sorted(shoal("items", "last", "--json").lines, key=json.dumps)


def test_the_row_of_a_list_is_at_hand_on_its_page_and_on_those_behind_it(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shop.py").write_text(SHOP)
    rows = [("7", "garden", "é, b"), ("8", "kitchen", "")]
    lines = [f'{sku},{site.url()}category/{place}/index.html,"{note}"' for sku, place, note in rows]
    (shoal.folder / "list.csv").write_text("\n".join(["sku,site,note", *lines]))
    ran = shoal("crawl", "shop.py", "@list.csv", "--column", "site", "--json")
    assert ran.code == 0, ran.err
    expected = [
        {"at": at, "sku": sku, "note": note} for at in ("detail", "list") for sku, note in (("7", "é, b"), ("8", ""))
    ]
    assert items(shoal) == expected
    again = shoal("extract", "last", "--spider", "shop.py", "--processes", "1")
    assert again.code == 0, again.err
    assert items(shoal) == expected


def test_a_list_of_bad_lines_alone_is_refused_although_the_rules_have_urls(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shop.yaml").write_text(f"start: [{site.url()}]\nitems: [{{fields: {{title: h1}}}}]\n")
    (shoal.folder / "shops.csv").write_text(f"sku,website\nA1,{site.url()}\n")
    ran = shoal("crawl", "shop.yaml", "@shops.csv", "--allow-private")
    assert ran.code == 2 and "--column NAME" in ran.err
    assert ran.err.endswith("error: no line of the list 'shops' is a URL that can be fetched\n")
    assert site.log() == [] and shoal("jobs", "--json").lines == []


def test_start_urls_of_rules_take_no_lines_and_no_rows_from_a_list(shoal: Shell, site: Running) -> None:
    rules = {
        "start": [site.url("/category/{garden,kitchen}/index.html"), site.url("/{1..3}")],
        "items": [{"name": "Shop", "fields": {"title": {"css": "h1"}, "sku": {"input": "sku"}}}],
    }
    (shoal.folder / "shop.yaml").write_text(json.dumps(rules))
    garden, kitchen = (f"{site.url()}category/{place}/index.html" for place in ("garden", "kitchen"))
    (shoal.folder / "list.csv").write_text(f"sku,site\n7,{garden}\n8,ftp://bad\n9,{kitchen}\n")
    ran = shoal("crawl", "shop.yaml", "@list.csv", "--column", "site", "--allow-private", "--rate", "0")
    assert ran.code == 0 and "line 3: 'ftp://bad'" in ran.err
    report = shoal("export", "last", "--inputs", "-o", "-").lines
    assert [(row["line"], row["sku"]) for row in report[:3]] == [(2, "7"), (3, "8"), (4, "9")]
    assert [row["duplicate_of"] for row in report if row["url"] == garden] == [None, 2]
    assert {row["sku"] for row in items(shoal)} >= {"7", "9"}
