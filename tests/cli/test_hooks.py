"""`on_start` and `on_finish` of a spider, from outside: once per job, whatever happens to the process."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from shoal.practice import Running
from tests.cli.conftest import TIMEOUT_S, Shell

SHOP = """\
import json
from pathlib import Path
from shoal import Page, Request, spider

NOTES = Path(r"{notes}")

def note(**what):
    with NOTES.open("a") as file:
        file.write(json.dumps(what) + "\\n")

@spider("{url}", allow_private=True, rate=0, max_pages={pages})
def shop(page: Page):
    yield {"at": "start", "token": page.shared["token"]}
    yield from page.follow("nav a", to=other)

@shop.callback
def other(page: Page):
    yield {"at": "other", "token": page.shared["token"]}

@shop.callback
def extra(page: Page):
    yield {"at": "extra", "token": page.shared["token"], "n": page.meta["n"]}

@shop.on_start
async def login(job, user: str = "ann"):
    note(hook="on_start", job=job.id, name=job.name)
    yield {"token": f"t-{user}"}
    yield Request("{url}account/login.html", callback=extra, meta={"n": 1})

@shop.on_finish
def report(job):
    note(hook="on_finish", job=job.id, state=job.state, shared=job.shared, figures=job.figures)
"""


def write(shoal: Shell, site: Running, pages: int = 1000, more: str = "") -> Path:
    notes = shoal.folder / "notes.jsonl"
    text = SHOP.replace("{notes}", str(notes)).replace("{url}", site.url()).replace("{pages}", str(pages))
    (shoal.folder / "shop.py").write_text(text + more)
    return notes


def lines(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def test_hooks_run_once_and_share_a_token_with_every_callback(shoal: Shell, site: Running) -> None:
    notes = write(shoal, site)
    ran = shoal("crawl", "shop.py", "-a", "user=bob", "--json")
    assert ran.code == 0, ran.err
    first, last = lines(notes)
    assert first == {"hook": "on_start", "job": ran.summary["job"], "name": "shop"}
    assert (last["hook"], last["state"], last["shared"]) == ("on_finish", "done", {"token": "t-bob"})
    assert last["figures"]["pages"] == ran.summary["pages"] and last["figures"]["items"] == ran.summary["items"]
    items = shoal("items", "last", "--json").lines
    assert {item["token"] for item in items} == {"t-bob"}
    assert [item["n"] for item in items if item["at"] == "extra"] == [1]
    again = shoal("extract", "last", "--spider", "shop.py", "--processes", "1")
    assert again.code == 0, again.err
    assert sorted(map(json.dumps, shoal("items", "last", "--json").lines)) == sorted(map(json.dumps, items))
    assert len(lines(notes)) == 2


def test_a_job_that_continues_starts_and_finishes_once(shoal: Shell, site: Running) -> None:
    notes = write(shoal, site, pages=1)
    assert shoal("crawl", "shop.py").code == 0
    assert [line["hook"] for line in lines(notes)] == ["on_start", "on_finish"]
    assert lines(notes)[1]["state"] == "limited"
    assert shoal("resume", "last", "--max-pages", "50").code == 0
    assert [line["hook"] for line in lines(notes)] == ["on_start", "on_finish"]
    assert "extra" in shoal("items", "last", "--json").out


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise ValueError('no login')", "on_start failed: broken.begin: ValueError: no login (broken.py:"),
        ("raise SystemExit(3)", "on_start failed: broken.begin: SystemExit"),
        ("__import__('os')._exit(9)", "on_start failed: broken.begin: SystemExit: os._exit(9) (broken.py:"),
        ("raise GeneratorExit", "on_start failed: broken.begin: GeneratorExit"),
        ("return 5", "on_start failed: it gave int 5; give requests, or a mapping to share"),
        ("return {'a': object()}", "on_start failed: it gave a mapping that is not JSON"),
        ("return Request('mailto:x')", "on_start failed: 'mailto:x'"),
    ],
)
def test_a_failing_on_start_fails_the_job_before_any_request(
    shoal: Shell, site: Running, fault: str, said: str
) -> None:
    (shoal.folder / "broken.py").write_text(
        f"from shoal import Request, spider\n@spider('{site.url()}', allow_private=True)\ndef broken(page): yield\n"
        f"@broken.on_start\ndef begin(job):\n    {fault}\n"
    )
    ran = shoal("crawl", "broken.py")
    assert ran.code not in (0, 1, 2)
    assert said in ran.err
    assert site.log() == []
    assert said.split("(")[0] in shoal("job", "last").out


def test_a_failing_on_finish_is_shown_and_loses_nothing(shoal: Shell, site: Running) -> None:
    (shoal.folder / "tail.py").write_text(
        f"from shoal import spider\n@spider('{site.url()}', allow_private=True)\ndef tail(page): yield {{'a': 1}}\n"
        "@tail.on_finish\ndef end(job):\n    raise OSError('no mail')\n"
    )
    ran = shoal("crawl", "tail.py", "-o", "out.jsonl")
    assert ran.code == 0
    assert "error: on_finish failed: tail.end: OSError: no mail (tail.py:6); the data is complete" in ran.err
    assert (shoal.folder / "out.jsonl").read_text() == '{"a": 1}\n'
    assert "on_finish failed" in shoal("job", "last").out
    error = "on_finish failed: tail.end: OSError: no mail (tail.py:6)"
    assert shoal("job", "last", "--json").lines[0]["on_finish_error"] == error
    again = shoal("crawl", "tail.py", "--json")
    assert (again.code, again.summary["on_finish_error"]) == (0, error)


def test_an_on_finish_that_was_killed_runs_again_when_the_job_is_resumed(shoal: Shell, site: Running) -> None:
    (shoal.folder / "tail.py").write_text(
        "import os, signal\nfrom pathlib import Path\nfrom shoal import spider\n"
        f"@spider('{site.url()}', allow_private=True)\ndef tail(page): yield {{'a': 1}}\n"
        "@tail.on_finish\ndef end(job):\n    with Path('runs').open('a') as file: file.write(job.state + ' ')\n"
        "    if Path('runs').read_text() == 'done ': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with shoal.start("crawl", "tail.py") as process:
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == -signal.SIGKILL
    again = shoal("resume", "last", "--json")
    assert (again.code, again.summary["state"], again.summary["items"]) == (0, "done", 1), again.err
    assert (shoal.folder / "runs").read_text() == "done done "
    assert "nothing to resume" in shoal("resume", "last").err


def test_hooks_cannot_cancel_their_crawl_or_move_it(shoal: Shell, site: Running) -> None:
    (shoal.folder / "tail.py").write_text(
        "import asyncio, os\nfrom shoal import spider\n"
        f"@spider('{site.url()}', allow_private=True)\ndef tail(page): yield {{'a': 1}}\n"
        "@tail.on_start\ndef begin(job):\n    os.chdir('/')\n"
        "@tail.on_finish\nasync def end(job):\n    asyncio.current_task().cancel()\n    await asyncio.sleep(0)\n"
    )
    ran = shoal("crawl", "tail.py", "-o", "out.jsonl")
    assert ran.code == 0, ran.err
    assert "error: on_finish failed: tail.end: CancelledError" in ran.err
    assert (shoal.folder / "out.jsonl").exists()


def test_on_finish_also_runs_after_a_failed_on_start(shoal: Shell, site: Running) -> None:
    (shoal.folder / "both.py").write_text(
        "from pathlib import Path\nfrom shoal import spider\n"
        f"@spider('{site.url()}', allow_private=True)\ndef both(page): yield\n"
        "@both.on_start\ndef begin(job):\n    raise ValueError('no login')\n"
        "@both.on_finish\ndef end(job):\n    with Path('runs').open('a') as file: file.write(job.state + ' ')\n"
    )
    assert "on_start failed" in shoal("crawl", "both.py").err
    assert "nothing to resume" in shoal("resume", "last").err
    assert (shoal.folder / "runs").read_text() == "failed "
