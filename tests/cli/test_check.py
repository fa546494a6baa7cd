from __future__ import annotations

from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from shoal.practice import Running
from tests.cli.conftest import Shell

RULES = """\
name: lamps
start: [https://lamps.test/]
follow: [{css: "a.next"}, {css: "li a", to: detail}]
items:
  - each: li
    fields:
      name: {css: b}
      price: {css: i, type: decimal}
      note: {css: u, optional: true}
pages:
  detail:
    items: [{fields: {name: {css: h1}}}]
"""
SPIDER = """\
from shoal import Item, Page, css, spider

class Maker(Item):
    name: str = css("em")

class Lamp(Item):
    name: str = css("b")
    watts: int = css("s")
    tags: list[str] = css("q")
    maker: Maker | None = css("address")

@spider("https://lamps.test/")
async def lamps(page: Page):
    for lamp in page.each("li", Lamp):
        yield lamp
    yield {"count": len(page.css("li")), "nothing": None}
    yield page.request("/search", form={"q": "lamp"}, to=broken)

@lamps.callback
def broken(page: Page):
    yield {"title": page.css("h1")[0].text}
"""
PAGE = """<ul>
<li><b>Tall</b><i>£5.50</i><u>new</u><a href=/tall>more</a><a href=https://other.test/>other</a></li>
<li><b>Short</b><i>on request</i><a href=/short>more</a></li></ul><a class=next href=/2>next</a>"""
LAMPS = """<li><b>Tall</b><s>40</s><q>a</q><q>b</q><address><em>Ann</em></address></li>
<li><b>Short</b><s>40 or so</s><address>Bob</address></li>"""


@pytest.fixture
def lamps(shoal: Shell) -> Path:
    """A folder with rules, a spider, and a page for each."""
    (shoal.folder / "lamps.yaml").write_text(RULES)
    (shoal.folder / "lamps.py").write_text(SPIDER)
    (shoal.folder / "page.html").write_text(PAGE)
    (shoal.folder / "lamps.html").write_text(LAMPS)
    return shoal.folder


@pytest.mark.usefixtures("lamps")
def test_each_field_is_shown_with_its_value_its_gaps_and_its_faults(shoal: Shell) -> None:
    ran = shoal("check", "lamps.yaml", "--file", "page.html")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].endswith("on https://lamps.test/: 1 item, 1 reject")
    assert lines[1:6] == [
        "lamps from 2 places (li)",
        "  field  filled  value  from",
        "  name      2/2  Tall   b",
        "  price     1/2  5.50   i",
        "  note?     1/2  new    u",
    ]
    assert lines[6].startswith("  price: 'on request' is no Decimal: ")
    assert lines[7].startswith("rejected: 1 x lamps: price: 'on request'")


@pytest.mark.usefixtures("lamps")
def test_followed_and_skipped_links_are_shown(shoal: Shell) -> None:
    out = shoal("check", "lamps.yaml", "--file", "page.html").out
    assert "follows 2 URLs to detail, e.g. https://lamps.test/tall" in out
    assert "e.g. https://lamps.test/2" in out
    assert "would not follow 1: outside the scope" in out


@pytest.mark.usefixtures("lamps")
def test_as_json_there_is_an_object_per_page_and_a_summary(shoal: Shell) -> None:
    shown, summary = shoal("check", "lamps.yaml", "--file", "page.html", "--json").lines
    (kind,) = shown["kinds"]
    price = kind["fields"][1]
    assert (kind["source"], kind["places"]) == ("li", 2)
    assert (price["filled"], price["empty"], price["required"], price["sample"]) == (1, 0, True, "5.50")
    assert price["faults"][0]["text"] == "on request"
    assert [item["data"]["name"] for item in shown["items"]] == ["Tall"]
    assert [reject["data"]["name"] for reject in shown["rejects"]] == ["Short"]
    assert [follow["refusal"] for follow in shown["follows"]].count("off_scope") == 1
    assert summary == {"type": "summary", "pages": 1, "items": 1, "rejects": 1, "failed": 0, "missing": []}


@pytest.mark.usefixtures("lamps")
def test_nested_items_lists_plain_mappings_and_posts_are_shown(shoal: Shell) -> None:
    shown, summary = shoal("check", "lamps.py", "--file", "lamps.html", "--json").lines
    lamp, plain = shown["kinds"]
    fields = {field["name"]: field for field in lamp["fields"]}
    assert fields["tags"]["sample"] == ["a", "b"] and not fields["tags"]["required"]
    assert fields["maker"]["sample"] == {"name": "Ann"}
    assert "Maker: name: nothing matches" in fields["maker"]["faults"][0]["reason"]
    assert fields["watts"]["filled"] + len(fields["watts"]["faults"]) == 2
    assert [(field["name"], field["filled"]) for field in plain["fields"]] == [("count", 1), ("nothing", 0)]
    assert [(follow["method"], follow["callback"]) for follow in shown["follows"]] == [("POST", "broken")]
    assert summary["items"] == 2 and summary["missing"] == []


def test_a_required_field_that_is_empty_everywhere_is_exit_3(shoal: Shell, lamps: Path) -> None:
    (lamps / "bare.html").write_text("<li><b>Tall</b></li><li><b>Short</b></li>")
    ran = shoal("check", "lamps.yaml", "--file", "bare.html")
    assert ran.code == 3 and "lamps.price is required, and empty on every page" in ran.err
    assert "note" not in ran.err
    nothing = shoal("check", "lamps.yaml", "--file", "bare.html", "--file", "page.html")
    assert nothing.code == 0


def test_a_block_that_matches_nothing_is_exit_3(shoal: Shell, lamps: Path) -> None:
    (lamps / "empty.html").write_text("<p>sold out</p>")
    ran = shoal("check", "lamps.yaml", "--file", "empty.html")
    assert ran.code == 3 and "lamps from 0 places (li)" in ran.out
    assert "nothing found on this page" in ran.out


@pytest.mark.usefixtures("lamps")
def test_a_callback_that_fails_is_exit_3_with_its_line(shoal: Shell) -> None:
    ran = shoal("check", "lamps.py", "--file", "lamps.html", "--callback", "broken")
    assert ran.code == 3
    assert "lamps.broken: IndexError: list index out of range (lamps.py:21)" in ran.out


@pytest.mark.usefixtures("lamps")
def test_a_named_callback_is_tried_and_an_unknown_one_is_exit_2(shoal: Shell) -> None:
    shown, _ = shoal("check", "lamps.yaml", "--file", "page.html", "--callback", "detail", "--json").lines
    assert [kind["fields"][0]["source"] for kind in shown["kinds"]] == ["h1"]
    ran = shoal("check", "lamps.yaml", "--file", "page.html", "--callback", "details")
    assert ran.code == 2 and "details" in ran.err


def test_faults_of_the_file_are_exit_2_with_their_place(shoal: Shell, lamps: Path) -> None:
    (lamps / "bad.yaml").write_text(RULES.replace("css: b}", 'css: "b["}').replace("decimal", "dezimal"))
    ran = shoal("check", "bad.yaml")
    assert ran.code == 2
    assert "bad.yaml:7:" in ran.err and "bad.yaml:8:" in ran.err
    (lamps / "bad.py").write_text(SPIDER.replace('css("em")', 'css("em[")'))
    ran = shoal("check", "bad.py")
    assert ran.code == 2 and "bad.py" in ran.err and "em[" in ran.err
    assert shoal("check", "nowhere.py").code == 2
    assert shoal("check", "lamps.yaml", "--file", "nowhere.html").code == 2


@pytest.mark.usefixtures("lamps")
def test_without_a_page_the_file_alone_is_checked(shoal: Shell) -> None:
    ran = shoal("check", "lamps.yaml")
    assert ran.code == 0 and "lamps is valid; it starts from https://lamps.test/" in ran.out
    (told,) = shoal("check", "lamps.py", "--json").lines
    assert told["name"] == "lamps" and told["callbacks"] == ["broken"]


def test_a_page_is_fetched_once_with_robots_asked(shoal: Shell, site: Running, lamps: Path) -> None:
    ran = shoal("check", "lamps.yaml", "--url", site.url(), "--allow-private", "--json")
    assert ran.lines[0]["url"] == site.url()
    assert [visit.path for visit in site.log()] == ["/robots.txt", "/"]
    assert not shoal.home.exists()
    (lamps / "open.yaml").write_text(RULES + "options: {allow_private: true, ignore_robots: true}\n")
    assert shoal("check", "open.yaml", "--url", site.url(), "--json").lines[0]["url"] == site.url()
    assert [visit.path for visit in site.log()] == ["/robots.txt", "/", "/"]
    missing = shoal("check", "lamps.yaml", "--url", site.url("/nowhere"), "--allow-private")
    assert missing.code == 4 and "answered 404" in missing.err


def test_text_from_a_page_cannot_steer_the_terminal(shoal: Shell, lamps: Path) -> None:
    (lamps / "evil.html").write_text("<li><b>\x1b[2Jgone</b><i>\x1b]0;x\x07</i></li>")
    out = shoal("check", "lamps.yaml", "--file", "evil.html").out
    assert "\x1b" not in out and "\\x1b[2Jgone" in out


@pytest.mark.usefixtures("lamps")
def test_it_answers_within_a_second(tmp_path: Path) -> None:
    shoal, used = Shell(tmp_path), []
    for _ in range(3):
        # Of its own time: beside other tests it waits for a core.
        before = getrusage(RUSAGE_CHILDREN)
        assert shoal("check", "lamps.py", "--file", "lamps.html").code == 0
        after = getrusage(RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert 0 < min(used) < 1.0
