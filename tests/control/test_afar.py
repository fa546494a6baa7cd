"""Commands through an API that fails, is of another version, or knows what is not here; and what they say to type next.

The API is served in this process, over a fleet that a test plays by hand, and a test may answer in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from shoal.cli.session import NOTICED_AFTER_S, Session
from shoal.cli.top_view import KEYS, LOOK_EVERY_S, NOTE_S, TopView
from shoal.jobs.export_files import JobFile
from shoal.jobs.files_tar import tar_of
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.file_paths import file_path
from shoal.store.crawl.inputs import seed_targets
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import load_job
from tests.cli.conftest import Ran
from tests.cli.crawling import WITHIN_S, until
from tests.cli.in_process import run_here
from tests.control.calling import Api, api_over
from tests.fleet.by_hand import FleetShell
from tests.store.archiving import kept
from tests.store.make import dead_letter, page
from tests.store.warcs import capture

URL = "https://example.com/"
Answer = Callable[[], tuple[str, bytes]]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@dataclass
class Afar:
    """`shoal` through the API; `instead` answers calls whose path ends so, each once."""

    api: Api
    folder: Path
    url: str = ""
    instead: dict[str, Answer] = field(default_factory=dict)

    def __call__(self, *args: str, **env: str) -> Ran:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        told = {"SHOAL_API_URL": self.url, "SHOAL_TOKEN": self.api.tokens[TokenScope.ADMIN], "COLUMNS": "80"}
        return run_here(self.folder, {**clean, "HOME": str(self.folder), **told, **env}, *args)

    def answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        ending = environ["PATH_INFO"].rpartition("/")[2]
        if ending not in self.instead:
            return self.api.client.application(environ, start)
        status, body = self.instead.pop(ending)()
        start(status, [("Content-Type", "application/json"), ("Retry-After", "60")])
        return [body]


@contextmanager
def served(api: Api, folder: Path) -> Iterator[Afar]:
    afar = Afar(api, folder)
    with make_server("127.0.0.1", 0, afar.answer, handler_class=Quiet) as server:
        afar.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield afar
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def afar(api: Api, tmp_path: Path) -> Iterator[Afar]:
    folder = tmp_path / "laptop"
    folder.mkdir()
    with served(api, folder) as afar:
        yield afar


def test_watch_continues_when_errors_cannot_be_counted(afar: Afar) -> None:
    job = afar.api.submit(URL)

    def away() -> tuple[str, bytes]:
        afar.api("POST", f"/jobs/{job}/cancel")
        return "503 Service Unavailable", b'{"detail": "the database is away"}'

    afar.instead["overview"] = away
    ran = afar("watch", job, "--json")
    assert (ran.code, ran.err) == (0, "") and not afar.instead
    assert ran.summary["state"] == "cancelled"


@pytest.mark.parametrize(("ending", "command"), [("spec", "job"), ("overview", "job"), ("explanation", "explain")])
def test_an_api_with_another_version_is_reported(afar: Afar, ending: str, command: str) -> None:
    job = afar.api.submit(URL)
    afar.instead[ending] = lambda: ("200 OK", json.dumps({"id": job, "colour": "red"}).encode())
    ran = afar(command, job, *([URL] if command == "explain" else []))
    assert ran.code == 2 and "runs another version" in ran.err


def test_a_report_is_the_same_over_the_api_and_on_the_fleet(afar: Afar, fleet: FleetShell) -> None:
    job = afar.api.submit(URL)
    letter = replace(dead_letter(2), job=job)
    save(afar.api.bridge.store, Batch(job, pages=[replace(page(1), job=job)], dead=[letter]))
    reports = [run("report", job, "-o", "-").out for run in (afar, fleet)]
    over_api, local = (re.sub(r"written [-0-9: ]+ UTC", "", text) for text in reports)
    assert over_api == local and "1 page of 1 host" in local and "timeout" in local


def test_files_of_items_come_over_the_api(afar: Afar, fleet: FleetShell) -> None:
    job, store = afar.api.submit(URL), afar.api.bridge.store
    assert "404" in str(afar.api("GET", f"/jobs/{job}/files").status)
    bodies = [b"one", b"", bytes(range(256)) * 300]
    archive = Archive.at(None, fleet.home)
    names = [hashlib.sha256(body).hexdigest() for body in bodies]
    captures = [
        capture(n, body, content_type="image/png", file=file_path(name, "image/png"))
        for n, (name, body) in enumerate(zip(names, bodies, strict=True))
    ]
    references = kept(store, archive, *captures, job=job).references
    archive.close()
    images = [
        replace(page(n), job=job, content_type="image/png", digest=f"sha256:{name}", archive=str(reference))
        for n, (name, reference) in enumerate(zip(names, references, strict=True))
    ]
    item = replace(page(9), job=job)
    item.files = {n: [f"{URL}{n}"] for n in range(3)}
    save(store, Batch(job, pages=[item, *images], has_files=True))
    ran = afar("export", job, "--files", "files")
    assert ran.code == 0 and "wrote 3 files" in ran.err, ran.err
    found = {file.stem: file.read_bytes() for file in (afar.folder / "files").rglob("*.png")}
    assert found == dict(zip(names, bodies, strict=True))
    assert "3 files already there" in afar("export", job, "--files", "files").err
    afar.instead["files"] = lambda: ("200 OK", b"".join(tar_of([JobFile("../../escaped", b"x")])))
    ran = afar("export", job, "--files", "files")
    assert ran.code == 2 and "'../../escaped' as a file of the job" in ran.err


def test_suggested_commands_use_the_same_api(afar: Afar) -> None:
    job = afar.api.submit(URL)
    prefix = f"shoal --api {afar.url} "
    told = [
        afar("--api", afar.url, *words.split(), SHOAL_API_URL="").err
        for words in (f"pause {job}", f"resume {job}", f"job {job}", f"cancel {job}", "hosts --rate 1")
    ]
    shown = afar("--api", afar.url, "explain", job, URL, SHOAL_API_URL="").out
    assert [f"{prefix}resume {job}" in told[0], f"{prefix}watch {job}" in told[1]] == [True, True]
    assert f"{prefix}export {job}" in told[3] and f"{prefix}hosts HOST" in told[4]
    assert "shoal " not in shown.replace(prefix, "")


def test_without_a_job_it_says_how_to_submit_one(afar: Afar, fleet: FleetShell, tmp_path: Path) -> None:
    assert f"no job in {afar.url} yet: `shoal submit URL`" in afar("jobs").err
    own = afar("jobs", SHOAL_API_URL="", SHOAL_REDIS_URL=fleet.redis.url, SHOAL_HOME=str(fleet.home)).err
    assert "`shoal submit URL`" in own and "demo" not in own
    home = tmp_path / "empty"
    crawled = afar("--home", str(home), "jobs", SHOAL_API_URL="").err
    assert f"`shoal --home {home} crawl URL`" in crawled and "shoal demo" in crawled


def test_a_spider_without_urls_is_refused_locally_and_by_the_api(
    fleet: FleetShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "startless").mkdir()
    (tmp_path / "startless/shop.py").write_text("from shoal import spider\n@spider()\ndef shop(page): yield\n")
    monkeypatch.syspath_prepend(tmp_path)
    with api_over(replace(fleet.settings, spiders=("startless.shop",))) as api, served(api, tmp_path) as afar:
        there = afar("submit", "startless.shop:shop")
        here = afar("submit", "startless.shop:shop", SHOAL_API_URL="", SHOAL_REDIS_URL=fleet.redis.url)
        assert (there.code, there.err) == (here.code, here.err) == (2, here.err)
        assert "names no URL to start from" in there.err and api.get("/jobs")["jobs"] == []


def test_arguments_of_a_spider_are_checked_by_the_api_and_stored_with_the_job(
    fleet: FleetShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "argued").mkdir()
    (tmp_path / "argued/shop.py").write_text(
        "from shoal import spider\n@spider('https://x.test/{place}')\n"
        "def shop(page, place: str, limit: int = 1): yield\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    body = {"spider": "argued.shop:shop"}
    with api_over(replace(fleet.settings, spiders=("argued.shop",))) as api, served(api, tmp_path) as afar:
        sent = afar("submit", "argued.shop:shop", "-a", "place=here", "-a", "limit=5", "--json")
        assert sent.code == 0, sent.err
        refused = afar("submit", "argued.shop:shop", "-a", "limt=5")
        assert refused.code == 2 and "needs place" in refused.err and "did you mean limit?" in refused.err
        made = api("POST", "/jobs", {**body, "arguments": {"place": "there", "limit": 7}})
        assert made.status_code == 201, made.text
        assert "needs place" in api("POST", "/jobs", body).get_json()["detail"]
        assert "'many'" in api("POST", "/jobs", {**body, "arguments": {"place": "a", "limit": "many"}}).text
        ids = (json.loads(sent.out)["id"], made.get_json()["id"])
        specs = [load_job(api.bridge.store, id).spec for id in ids]
        (first, *_), (second, *_) = (seed_targets(api.bridge.store, id, -1, 5) for id in ids)
    assert [spec.arguments for spec in specs] == [{"place": "here", "limit": "5"}, {"place": "there", "limit": "7"}]
    assert first.target and first.target.url == "https://x.test/here"
    assert second.target and second.target.url == "https://x.test/there"


def test_a_fleet_spider_cannot_be_dry_run_through_an_api(afar: Afar) -> None:
    for command in (["submit"], ["schedule", "add", "daily", "--cron", "30 4 * * *"]):
        ran = afar(*command, "shops.books:books", "--dry-run")
        assert ran.code == 2 and "cannot load shops.books:books here" in ran.err


def test_a_host_is_read_by_name(afar: Afar) -> None:
    afar.instead["hosts"] = lambda: ("500 Internal Server Error", b"{}")
    ran = afar("hosts", "nowhere.example")
    assert ran.code == 2 and "unknown host 'nowhere.example'" in ran.err and afar.instead


@pytest.mark.parametrize(
    ("status", "code", "words", "state"),
    [
        ("403 Forbidden", 2, "not for you; job {job} is cancelled, because its list could not be sent", "cancelled"),
        ("429 Too Many Requests", 5, "send the others to {url}/api/v1/jobs/{job}/urls", "waiting"),
    ],
)
def test_a_list_that_the_api_refuses_is_reported_with_its_job(
    afar: Afar, status: str, code: int, words: str, state: str
) -> None:
    (afar.folder / "urls.txt").write_text(f"{URL}\n/bad\n")
    afar.instead["urls"] = lambda: (status, b'{"detail": "not for you"}')
    ran = afar("submit", "@urls.txt")
    (job,) = afar.api.get("/jobs")["jobs"]
    assert ran.code == code and words.format(job=job["id"], url=afar.url) in ran.err
    assert "line 2: '/bad': is not a URL" in ran.err and job["state"] == state


def test_a_command_says_once_that_the_api_is_silent(afar: Afar) -> None:
    said = f"no answer from {afar.url} for 3s; still trying\n"

    def held() -> tuple[str, bytes]:
        until(lambda: said.encode() in sys.stderr.buffer.getvalue())  # type: ignore[union-attr]
        return "200 OK", b'{"jobs": [], "next": null}'

    afar.instead["jobs"] = held
    ran = afar("jobs")
    assert ran.code == 0 and ran.err.startswith(said) and ran.err.count("no answer") == 1
    assert Session(json=True).on_silence is None is Session(quiet=True).on_silence


def test_top_says_how_long_the_api_is_silent_and_what_keys_ask_for_then_does_not_happen_later(
    afar: Afar, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, now, continues = afar.api.submit(URL), 0.0, threading.Event()
    monkeypatch.setenv("SHOAL_TOKEN", afar.api.tokens[TokenScope.ADMIN])

    def held() -> tuple[str, bytes]:
        continues.wait(WITHIN_S)
        return "503 Service Unavailable", b'{"detail": "it was stopped"}'

    with Session(str(afar.folder), afar.url) as session, session.open_jobs() as jobs:
        view = TopView(session, jobs, lambda: now)
        view.read(print)
        afar.instead["jobs"] = held
        now += LOOK_EVERY_S
        view.refresh()
        until(lambda: not afar.instead)
        view.press("p")
        now += NOTICED_AFTER_S + 9
        view.refresh()
        said = f"no answer from {afar.url} for 12s; still trying"
        assert view.screen(80, 24)[-1] == f"p did nothing: {said}"[:80]
        now += NOTE_S
        assert view.screen(80, 24)[-1] == said.replace("12s", "18s")
        view.press("p")
        assert view.screen(80, 24)[-1].startswith("p did nothing: ")
        continues.set()
        until(lambda: view.refresh() or not view.is_waiting)  # type: ignore[func-returns-value]
        now += NOTE_S
        assert view.screen(80, 24)[-1] == KEYS
    assert afar.api.get(f"/jobs/{job}")["state"] != "paused"
