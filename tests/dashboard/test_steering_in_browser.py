"""An operator at work in a real Chromium: submits a job, watches it, changes it, and logs out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress

import pytest

from shoal.model import JobState
from shoal.practice import Answer, Server, Visit
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live
from tests.dashboard.chromium import Tab
from tests.fleet.hosting import hosting

_PAGES = "+/([0-9]+) of ~?[0-9]+ pages/.exec(document.body.innerText)?.[1]"


def endless_site(visit: Visit) -> Answer:
    """Page n leads to two others, and /broken fails."""
    name = visit.path.removeprefix("/")
    if name and not name.isdigit():
        return Answer(404 if name == "robots.txt" else 500, b"")
    below = [2 * int(name or 1), 2 * int(name or 1) + 1]
    return Answer(200, f"<title>{name}</title>{''.join(f'<a href=/{n}>{n}</a>' for n in below)}".encode())


@pytest.fixture
def site() -> Iterator[Server]:
    with hosting(endless_site, 1) as site:
        yield site


def test_a_person_submits_a_job_watches_it_changes_it_and_ends_it(tab: Tab, live: Live, site: Server) -> None:
    job = _submit(tab, site)
    _watch_while_typing(tab)
    tab.click("form[action$='/change'] button[name=preview]")
    tab.until_text("The change would drop ")
    assert tab.js("document.querySelector('[name=exclude]').value") == "*.pdf", "what was typed stays"
    tab.type("[name=rate]", "2.5")
    tab.follow("form[action$='/change'] button:not([name])")
    tab.until_text("The change holds")
    spec = live.fleet.standing(job).job.spec
    assert (spec.politeness.rate, spec.exclude) == (2.5, ("*.pdf",))

    tab.follow("form[action$='/pause'] button")
    tab.until_text("paused")
    assert live.fleet.standing(job).state is JobState.PAUSED
    tab.follow("form[action$='/resume'] button")
    assert live.fleet.standing(job).state is not JobState.PAUSED

    tab.open(f"{live.url}/jobs/{job}/explain")
    tab.type("main [name=url]", site.url("/"))
    tab.follow("main button")
    assert "fingerprint" in tab.text and "200" in tab.text

    tab.follow(f".tabs a[href$='/jobs/{job}']")
    tab.follow("form[action$='/cancel'] button")
    assert tab.dialogs == ["Cancel this job for good? Its pages and items are kept."]
    tab.until_text("cancelled")
    tab.follow("header .who button")
    assert tab.path == "/login"
    tab.open(f"{live.url}/jobs/{job}")
    assert tab.path.startswith("/login?next=")
    assert tab.problems == []


def _submit(tab: Tab, site: Server) -> str:
    tab.type("[name=urls]", f"{site.url('/')}\n{site.url('/broken')}")
    tab.type("[name=name]", "watched")
    tab.type("[name=rate]", "3")
    tab.follow("form[data-copy] button:not([type])")
    tab.until_text("The job is submitted.")
    return tab.path.rpartition("/")[2]


def _watch_while_typing(tab: Tab) -> None:
    """The page moves by itself, and keeps the focus and what is typed."""
    tab.js("window.isSamePage = true")
    tab.type("[name=exclude]", "*.pdf")
    first = tab.until(f"{_PAGES} > 0 && {_PAGES}")
    tab.until(f"{_PAGES} > {first}")
    assert tab.js("[window.isSamePage, document.activeElement.name, document.activeElement.value]") == [
        True,
        "exclude",
        "*.pdf",
    ]


def test_the_form_is_copied_as_a_command_as_curl_and_as_python(
    tab: Tab, live: Live, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tab.type("[name=urls]", "https://example.com/it's")
    tab.type("[name=rate]", "0.1234567")
    tab.type("[name=max_pages]", "7")
    tab.type("[name=rules]", "start: [https://example.com/]\nfollow: [a]")
    copies = {}
    for way, has in (("cli", "shoal --api"), ("curl", "curl -sS -H"), ("python", "shoal.client")):
        tab.click(f"[data-as={way}]")
        copies[way] = tab.until(
            f"(text => text.includes('{has}') && text)(document.querySelector('output').textContent)"
        )
    file, command = copies["cli"].split("RULES\n")
    assert file == "cat > rules.yml <<'RULES'\nstart: [https://example.com/]\nfollow: [a]\n"
    words = ["submit", "rules.yml", "https://example.com/it's", "--rate", "0.1234567", "--max-pages", "7"]
    assert shlex.split(command) == ["shoal", "--api", live.url, *words]
    *_, body, url = shlex.split(copies["curl"])
    rules = {"start": ["https://example.com/"], "follow": ["a"]}
    assert json.loads(body) == {"urls": ["https://example.com/it's"], "rate": 0.1234567, "max_pages": 7, "rules": rules}
    assert url.endswith("/api/v1/jobs")
    monkeypatch.setenv("SHOAL_TOKEN", live.tokens[TokenScope.ADMIN])
    exec(compile(copies["python"], "copied", "exec"))
    id = capsys.readouterr().out.strip()
    assert live.call("GET", f"/jobs/{id}")[1]["name"]
    assert live.call("POST", f"/jobs/{id}/cancel")[0] < 300
    assert tab.problems == []


def test_a_group_of_errors_is_retried_with_the_keyboard_alone(tab: Tab, live: Live, site: Server) -> None:
    job = live.submit(site.url("/broken"), retries=0, scope="listed")
    live.fleet.until_ended(job)
    tab.open(f"{live.url}/jobs/{job}/errors")
    for _ in range(40):
        tab.press("Tab")
        if tab.js("document.activeElement.textContent") == "Retry group":
            break
    assert tab.js("document.activeElement.textContent") == "Retry group"
    tab.press("Enter")
    tab.until_text("queued again")
    live.fleet.until_ended(job)
    assert tab.problems == []


def test_keys_lead_through_tables_tabs_and_pages(tab: Tab, live: Live, site: Server) -> None:
    job = live.submit(site.url("/broken"), retries=0, scope="listed")
    live.fleet.until_ended(job)
    tab.open(live.url)
    tab.press("j")
    assert tab.js("document.activeElement.textContent") == live.fleet.standing(job).job.spec.name
    tab.press("Enter")
    tab.until(f"location.pathname === '/jobs/{job}' && document.readyState === 'complete'")
    tab.press("]")
    tab.until(f"location.pathname === '/jobs/{job}/errors' && document.readyState === 'complete'")
    tab.press("?")
    tab.until("document.getElementById('keys').open")
    tab.press("Escape")
    tab.until("!document.getElementById('keys').open")
    # Again if this machine took longer from one key to the next than a person would.
    for _ in range(10):
        tab.press("g")
        tab.press("f")
        with suppress(AssertionError):
            tab.until("location.pathname === '/fleet' && document.readyState === 'complete'", within_s=10)
            break
    assert "Broker" in tab.text and tab.problems == []
