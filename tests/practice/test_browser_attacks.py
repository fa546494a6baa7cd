"""The site whose scripts attack browsers: what it serves. `tests/browser` shows what the attacks achieve."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from shoal.practice import Answer, HostileScripts, Visit, running
from shoal.practice.hostile.browser_attacks import ATTACKS
from tests.practice.bare_browser import dump_dom
from tests.practice.visitor import get

SITE = HostileScripts(good=20, every=4)
PARSE = """<!doctype html><script>
  const wrong = [];
  for (const [name, script] of Object.entries(%s)) {
    try { new Function(script) } catch (error) { wrong.push(name + ": " + error) }
  }
  document.write("<ul>" + wrong.map((line) => "<li>" + line).join("") + "</ul>");
</script>"""


def _get(target: str) -> Answer:
    path, _, query = target.partition("?")
    return SITE.answer(Visit("127.0.0.1", 80, "GET", target, path, query, {}))


def test_an_attack_follows_every_few_good_pages() -> None:
    links = [link.attributes["href"] or "" for link in LexborHTMLParser(_get("/").body).css("a")]
    assert [link.startswith("/attack/") for link in links] == [False, False, False, False, True] * 5
    assert {_get(link).status for link in links} == {200}
    assert len(set(links)) == len(links) == 25


def test_a_long_site_has_every_attack_and_then_begins_again() -> None:
    paths = HostileScripts(good=2 * len(ATTACKS), every=1).attack_paths
    names = [path.removeprefix("/attack/").partition(".html?")[0] for path in paths]
    assert names[: len(ATTACKS)] == names[len(ATTACKS) :]
    assert set(names) == set(ATTACKS)
    assert len(set(paths)) == len(paths)


def test_every_attack_is_a_script_that_a_browser_accepts() -> None:
    # Many attacks in one page, none of which runs.
    source = json.dumps(dict(ATTACKS)).replace("</", "<\\/")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "parse.html").write_text(PARSE % source)
        page = LexborHTMLParser(dump_dom(f"file://{folder}/parse.html", folder / "profile"))
    assert [line.text() for line in page.css("ul")] == [""]


def test_a_good_page_has_its_words_from_a_script() -> None:
    body = _get("/good/7.html").body.decode()
    assert "Good page 7" not in body and "<script>" in body
    assert _get("/good/x.html").status == 404


def test_a_site_in_another_process_has_the_same_pages() -> None:
    with running(SITE) as site:
        assert get(site.url("/")) == (200, _get("/").body)
