"""Every command on jobs prints the same on the fleet as through its API, where there is nothing but the API."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shoal.client import BATCH
from shoal.fleet.fleet import Fleet
from shoal.store.fleet.schedules import list_schedules
from shoal.store.fleet.scrapy_projects import save_version
from shoal.store.fleet.tokens import TokenScope
from tests.cli.conftest import Here, Ran
from tests.control.live import Live
from tests.frontier.redis_server import free_port

NOWHERE = "http://127.0.0.1:9/"


@dataclass
class Laptop(Here):
    """`shoal` where neither Redis nor the database can be reached, nor is there a home."""

    url: str
    token: str

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHOAL_API_URL": self.url, "SHOAL_TOKEN": self.token}


@dataclass
class Jobs:
    """What the commands look at: ended, so that nothing moves between two looks."""

    books: str
    again: str
    failed: str


@pytest.fixture(scope="module")
def laptop(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Laptop:
    return Laptop(tmp_path_factory.mktemp("laptop"), live.url, live.tokens[TokenScope.ADMIN])


@pytest.fixture(scope="module")
def jobs(live: Live) -> Jobs:
    fields = {"title": {"css": "h3 a"}, "price": {"css": "h3 a", "type": "decimal"}}
    rules = {"name": "books", "start": [live.site.url("/")], "follow": [{"css": "a"}]}
    kept = {"each": "article.product_pod", "name": "book", "fields": {"title": {"css": "h3 a"}}}
    refused = {"each": "article.product_pod", "name": "offer", "fields": fields}
    secret = {"headers": {"X-Key": "hush"}, "cookies": {"a": "hush"}, "webhook": {"url": NOWHERE, "secret": "hush"}}
    books = live.submit(rules={**rules, "items": [kept, refused]}, **secret)
    failed = live.submit(NOWHERE, retries=0, name="failed")
    for job in (books, failed):
        live.fleet.until_ended(job)
    again = live.submit(rules={**rules, "items": [kept]}, limits={"pages": 5})
    live.fleet.until_ended(again)
    return Jobs(books, again, failed)


def both(live: Live, laptop: Laptop, *args: str, **named: Any) -> Ran:
    """What a command says here and there: the same in every respect."""
    here, there = (shell(*args, **named) for shell in (live.fleet, laptop))
    if there != here and here != (still := live.fleet(*args, **named)):
        # A host's slowdown was forgiven in between, a minute after it was learnt.
        here, there = still, laptop(*args, **named)
    assert there == here
    return there


LOOKS = (
    "jobs --limit 3",
    "jobs --limit 2 --json",
    "job BOOKS",
    "job BOOKS --json",
    "job FAILED",
    "job last",
    "job books",
    "watch BOOKS",
    "watch FAILED --json",
    "pages BOOKS",
    "pages BOOKS --json",
    "items BOOKS",
    "items BOOKS --json",
    "items BOOKS --json --limit 3",
    "items BOOKS --json --type book",
    "items BOOKS --json --provenance",
    "items BOOKS --rejected",
    "items BOOKS --rejected --json --type offer",
    "dead FAILED",
    "dead FAILED --json",
    "dead FAILED --where reason=unreachable",
    "dead FAILED --where status=many",
    "dead FAILED --where colour=red",
    "explain BOOKS SITE",
    "explain BOOKS SITE --json",
    f"explain FAILED {NOWHERE}",
    "explain BOOKS https://example.com/elsewhere",
    "explain BOOKS javascript:x",
    "diff BOOKS AGAIN",
    "diff BOOKS AGAIN --json",
    "export BOOKS -o -",
    "pause BOOKS",
    "hosts --all --json",
    "hosts nowhere.example",
    "schedule list",
    "schedule remove nothing",
    "token list",
    "token remove nothing",
    "job nothing",
    "job bocks",
    "pages BOOKS --body ffffffffffffffff",
)


@pytest.mark.parametrize("line", LOOKS)
def test_a_command_prints_the_same(live: Live, laptop: Laptop, jobs: Jobs, line: str) -> None:
    words = {"BOOKS": jobs.books, "AGAIN": jobs.again, "FAILED": jobs.failed, "SITE": live.site.url("/")}
    ran = both(live, laptop, *(words.get(word, word) for word in line.split()))
    assert ran.code in (0, 2) and ran.out + ran.err
    assert "hush" not in ran.out + ran.err


def test_a_name_with_a_slash_is_found_too(live: Live, laptop: Laptop) -> None:
    job = live.submit(NOWHERE, retries=0, name="shop/books")
    live.fleet.until_ended(job)
    assert json.loads(both(live, laptop, "job", "shop/books", "--json").out)["id"] == job
    assert "there is no job 'shop/bocks'" in laptop("job", "shop/bocks").err


def test_a_job_is_deleted_once_it_has_ended(live: Live, laptop: Laptop) -> None:
    for shell in (live.fleet, laptop):
        job = live.submit(NOWHERE, retries=0)
        live.fleet.until_ended(job)
        assert shell("delete", job, "--yes").code == 0
        assert "there is no job" in shell("job", job).err
        waiting = live.submit()
        refused = shell("delete", waiting, "--yes")
        assert refused.code == 2 and "cancel" in refused.err
        assert shell("cancel", waiting).code == 0


def test_a_submitted_job_has_its_webhook(live: Live, laptop: Laptop) -> None:
    for shell in (live.fleet, laptop):
        (shell.folder / "secret").write_text("hush\n")
        hook = ("--webhook", NOWHERE, "--webhook-secret-file", "secret")
        job = shell("submit", NOWHERE, "--retries", "0", *hook).out.strip()
        live.fleet.until_ended(job)
        assert json.loads(shell("job", job, "--json").out)["webhook"] is not None


def test_a_separate_process_prints_the_same(laptop: Laptop, jobs: Jobs) -> None:
    assert laptop.apart("job", jobs.books) == laptop("job", jobs.books)


@pytest.mark.parametrize("name", ["books.jsonl", "books.csv", "books.parquet", "pages.csv", "inputs.csv"])
def test_an_exported_file_is_the_same(live: Live, laptop: Laptop, jobs: Jobs, name: str) -> None:
    what = [] if name.startswith("books") else [f"--{Path(name).stem}"]
    ran = both(live, laptop, "export", jobs.books, "-o", name, *what)
    assert "record" in ran.err
    assert (laptop.folder / name).read_bytes() == (live.fleet.folder / name).read_bytes()


def test_an_archive_and_a_body_are_the_same(live: Live, laptop: Laptop, jobs: Jobs) -> None:
    both(live, laptop, "export", jobs.books, "--warc", "-o", "books.warc.gz")
    assert (laptop.folder / "books.warc.gz").read_bytes() == (live.fleet.folder / "books.warc.gz").read_bytes()
    (page, *_) = laptop("pages", jobs.books, "--json").lines
    assert "</html>" in both(live, laptop, "pages", jobs.books, "--body", page["fingerprint"]).out


def test_a_list_is_submitted_with_the_same_complaints_and_its_lines_keep_their_numbers(
    live: Live, laptop: Laptop
) -> None:
    text = f"shop,site\nOne,{live.page(500)}\nTwo,/bad\nThree,\nFour,{live.page(501)}\nFive,{live.page(500)}\n"
    args = ("submit", "@shops.csv", "--column", "site", "--rate", "0", "--max-depth", "3", "--json")
    ran = []
    for shell in (live.fleet, laptop):
        (shell.folder / "shops.csv").write_text(text)
        ran.append(shell(*args))
    here, there = ran
    assert (there.code, there.err) == (here.code, here.err) and "line 3: '/bad': is not a URL" in there.err
    told = [one.lines[0] for one in ran]
    ids = [one.pop("id") for one in told]
    assert told == [{"accepted": 2, "duplicates": 1, "rejected": 2}] * 2
    reports = []
    for id in ids:
        figures = live.fleet.until_ended(id)
        assert (figures["name"], figures["pages"], figures["state"]) == ("shops", 2, "done")
        assert "listed" in laptop("job", id).out
        reports.append([json.loads(line) for line in laptop("export", id, "--inputs", "-o", "-").out.splitlines()])
    assert reports[0] == reports[1]
    ends = [(row["line"], row["reason"], row["duplicate_of"]) for row in reports[1]]
    assert ends == [(2, None, None), (3, "malformed", None), (4, "empty", None), (5, None, None), (6, None, 2)]


def test_a_list_of_any_length_is_sent(laptop: Laptop) -> None:
    urls = "".join(f"https://example.invalid/{number}\n" for number in range(12_000))
    ran = laptop("submit", "-", "--lane", "slow", "--name", "many", "--json", input=f"\n{urls}\nmailto:x\n{urls}")
    assert ran.code == 0, ran.err
    told = ran.lines[0]
    assert (told["accepted"], told["duplicates"], told["rejected"]) == (12_000, 12_000, 1)
    assert laptop("cancel", told["id"]).code == 0
    (first, *_, last) = laptop("export", told["id"], "--inputs", "-o", "-").out.splitlines()
    assert (json.loads(first)["line"], json.loads(last)["line"]) == (2, 24_003)
    assert json.loads(last)["duplicate_of"] == 12_001


@pytest.mark.usefixtures("jobs")
def test_a_bad_line_of_a_strict_list_leaves_no_job_behind(live: Live, laptop: Laptop) -> None:
    before = laptop("jobs", "--limit", "1", "--json").out
    ran = both(live, laptop, "submit", "-", "--strict", input=f"{NOWHERE}\n/bad\n")
    assert ran.code == 2 and "1 bad line, and" in ran.err
    assert laptop("jobs", "--limit", "1", "--json").lines[0]["id"] == json.loads(before)["id"]


def test_a_list_with_passwords_is_sent_with_the_job(live: Live, laptop: Laptop) -> None:
    with_password = live.page(502).replace("://", "://ann:hush@")
    lines = "".join(f"https://example.invalid/{number}\n" for number in range(BATCH + 1))
    submitter = {"SHOAL_TOKEN": live.tokens[TokenScope.SUBMIT]}
    text = f"# shops\n{with_password}\n{lines}"
    ran = laptop("submit", "-", "--lane", "slow", "--json", input=text, env=submitter)
    assert (ran.code, ran.lines[0]["accepted"]) == (0, BATCH + 2), ran.err
    job = ran.lines[0]["id"]
    assert laptop("cancel", job).code == 0
    (first, *_) = laptop("export", job, "--inputs", "-o", "-").out.splitlines()
    assert json.loads(first)["line"] == 2 and "hush" not in first


def test_lists_and_urls_together_are_one_list(live: Live, laptop: Laptop) -> None:
    for shell in (live.fleet, laptop):
        (shell.folder / "more.txt").write_text("https://example.invalid/1\n\n/bad\nhttps://example.invalid/2\n")
    args = ("submit", "example.invalid/0", "@more.txt", "mailto:x", "-", "--lane", "slow", "--json")
    reports = []
    for shell in (live.fleet, laptop):
        ran = shell(*args, input="https://example.invalid/2\n")
        assert ran.code == 0, ran.err
        laptop("cancel", ran.lines[0]["id"])
        reports.append((ran.err, laptop("export", ran.lines[0]["id"], "--inputs", "-o", "-").out))
    assert reports[0] == reports[1]
    assert [json.loads(line)["line"] for line in reports[0][1].splitlines()] == [1, 2, 4, 5, 6, 7]


def test_a_forbidden_call_is_exit_code_2(live: Live, laptop: Laptop) -> None:
    submitter = {"SHOAL_TOKEN": live.tokens[TokenScope.SUBMIT]}
    ran = laptop("submit", "-", "--header", "X: y", input="https://example.invalid/\n", env=submitter)
    assert ran.code == 2 and "scope admin: headers" in ran.err


def test_a_submitter_finds_its_own_jobs_and_no_others(live: Live, laptop: Laptop, jobs: Jobs) -> None:
    submitter = {"SHOAL_TOKEN": live.tokens[TokenScope.SUBMIT]}
    own = laptop("submit", "https://example.invalid/", "--lane", "slow", "--json", env=submitter).lines[0]["id"]
    listed = laptop("jobs", "--json", env=submitter).lines
    assert own in {job["id"] for job in listed} and {job["owner"] for job in listed} == {"live-submit"}
    for command in ("job", "cancel", "pages"):
        ran = laptop(command, jobs.books, env=submitter)
        assert ran.code == 2 and f"there is no job '{jobs.books}'" in ran.err
    assert laptop("cancel", own, env=submitter).code == 0
    live.fleet.until_ended(own)
    # Only now: what a running job waits for may change between two calls.
    assert "owner       live-submit" in both(live, laptop, "job", own).out


def test_rules_are_sent_as_data_and_options_unchanged(live: Live, laptop: Laptop) -> None:
    rules = f"name: tiny\nstart: ['{live.site.url('/')}']\nitems: [{{fields: {{title: {{css: title}}}}}}]\n"
    (laptop.folder / "tiny.yaml").write_text(rules)
    options = ("--header", "X-Key: hush", "--cookie", "a=hush", "--no-archive", "--ignore-robots", "--rate", "0")
    limits = ("--max-pages", "1", "--max-seconds", "10m", "--allow-trap", "calendar,queries", "--exclude", "*.pdf")
    ran = laptop("submit", "tiny.yaml", *options, *limits, "--json")
    assert ran.code == 0, ran.err
    id = ran.lines[0]["id"]
    assert live.fleet.until_ended(id)["items"] == 1
    said = both(live, laptop, "job", id).out
    for words in ("1 page, 10m00s", "--ignore-robots", "calendar,queries", "not *.pdf", "header X-Key", "1 cookie"):
        assert words in said
    assert "none (--no-archive)" in said and "hush" not in said


def test_a_spider_is_named_by_its_import_path_and_loaded_there_only(laptop: Laptop) -> None:
    there = laptop("submit", "shops.nowhere:books")
    assert there.code == 2 and "SHOAL_SPIDERS" in there.err
    (laptop.folder / "shop.py").write_text("from shoal import spider\n@spider('http://x/')\ndef shop(page): yield\n")
    here = laptop("submit", "shop.py")
    assert here.code == 2 and "package.module:name" in here.err


def test_a_limited_job_continues_through_the_api_only_with_a_higher_limit(live: Live, laptop: Laptop) -> None:
    job = live.submit(live.page(700), limits={"pages": 1}, allow_private=True)
    live.fleet.until_ended(job)
    refused = both(live, laptop, "resume", job)
    assert refused.code == 2 and f"`shoal resume {job} --max-pages N`" in refused.err
    assert laptop("resume", job, "--max-pages", "1").code == 2
    resumed = laptop("resume", job, "--max-pages", "3")
    assert (resumed.code, resumed.err) == (0, f"job {job} continues; follow it: shoal watch {job}\n")
    assert live.fleet.until_ended(job)["pages"] == 3


def test_a_job_is_controlled_and_retried_through_the_api(live: Live, laptop: Laptop) -> None:
    job = laptop("submit", "https://example.invalid/", "--lane", "slow", "--json").lines[0]["id"]
    assert laptop("pause", job).err == f"job {job} is paused; workers finish their requests in flight\n" + (
        f"continue with: shoal resume {job}\n"
    )
    both(live, laptop, "job", job)
    resumed = laptop("resume", job)
    assert (resumed.code, resumed.err) == (0, f"job {job} continues; follow it: shoal watch {job}\n")
    assert laptop("cancel", job, "--json").lines == [{"id": job, "state": "cancelled"}]
    failed = live.submit(NOWHERE, retries=0)
    live.fleet.until_ended(failed)
    assert "1 request of job" in laptop("dead", failed, "--retry").err
    live.fleet.until_ended(failed)


def test_a_host_is_overridden_through_the_api(live: Live, laptop: Laptop, jobs: Jobs) -> None:
    host = live.site.url("").removeprefix("http://")
    assert laptop("hosts", host, "--rate", "50", "--json").lines[0]["rate"] == 50
    assert "50/s" in both(live, laptop, "hosts", host).out
    assert laptop("hosts", host, "--rate", "default").code == 0


def test_a_schedule_is_managed_through_the_api(live: Live, laptop: Laptop) -> None:
    once = (live.page(600), "--max-pages", "1", "--rate", "0")
    made = laptop("schedule", "add", "daily", "--cron", "30 4 * * *", "--zone", "Europe/Berlin", *once)
    assert made.code == 0 and "schedule daily is added, next run" in made.err, made.err
    assert "30 4 * * *" in both(live, laptop, "schedule", "list").out
    job = laptop("schedule", "run", "daily", "--json").lines[0]["id"]
    live.fleet.until(lambda: laptop("job", job).code == 0)
    live.fleet.until_ended(job)
    assert f"job {job}" in both(live, laptop, "schedule", "list").out
    both(live, laptop, "schedule", "pause", "daily", "--json")
    assert "continues" in laptop("schedule", "pause", "daily", "--off").err
    assert laptop("schedule", "remove", "daily").err == "schedule daily is removed\n"

    async def left(fleet: Fleet) -> list[str]:
        return [one.name for one in list_schedules(fleet.store)]

    assert live.fleet.by_hand(left) == []


def test_a_scrapy_project_is_scheduled_by_name_and_version(live: Live, laptop: Laptop) -> None:
    async def upload(fleet: Fleet) -> None:
        for version in ("1.0", "2.0"):
            save_version(fleet.store, "news", version, version.encode(), ["daily"], 1.0)

    live.fleet.by_hand(upload)
    project = ("--scrapy", "news", "--spider", "daily", "--project-version", "1.0")
    assert laptop("schedule", "add", "papers", "--cron", "@yearly", *project).code == 0
    assert live.fleet("schedule", "add", "own", "--cron", "@yearly", *project).code == 2
    job = laptop("schedule", "run", "papers").out.strip()
    live.fleet.until(lambda: laptop("job", job).code == 0)
    # No worker takes it: uploads are off.
    assert f"spider daily of news 1.0, jobid {job}" in both(live, laptop, "job", job).out
    assert laptop("cancel", job).code == 0 and laptop("schedule", "remove", "papers").code == 0


def test_an_admin_creates_and_removes_a_token(laptop: Laptop) -> None:
    token = laptop("token", "add", "reader", "--scope", "read").out.strip()
    assert token.startswith("shoal_")
    refused = laptop("token", "list", env={"SHOAL_TOKEN": token})
    assert refused.code == 2 and "scope admin" in refused.err
    assert laptop("jobs", env={"SHOAL_TOKEN": token}).code == 0
    assert laptop("token", "remove", "reader").code == 0
    unknown = laptop("jobs", env={"SHOAL_TOKEN": token})
    assert unknown.code == 2 and "unknown token" in unknown.err


def test_without_a_token_it_says_how_to_get_one(laptop: Laptop) -> None:
    ran = laptop("jobs", env={"SHOAL_TOKEN": ""})
    assert ran.code == 2 and "SHOAL_TOKEN" in ran.err and "shoal token add" in ran.err


@pytest.mark.parametrize("command", ["jobs", "job last", "watch last", "submit https://example.com", "token list"])
def test_an_api_that_is_away_is_exit_code_5(laptop: Laptop, command: str) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    ran = laptop("--api", address, *command.split())
    assert ran.code == 5 and address in ran.err


@pytest.mark.parametrize("command", ["extract last --rules x.yaml", "rebuild last", "logs last", "db upgrade"])
def test_a_command_that_needs_a_fleet_machine_says_so(laptop: Laptop, command: str) -> None:
    ran = laptop(*command.split())
    assert ran.code == 2 and "run it on a machine of the fleet, without SHOAL_API_URL" in ran.err


def test_the_flag_wins_over_the_environment_and_the_token_is_masked(live: Live, laptop: Laptop) -> None:
    rows = laptop("config", "show", "--api", "http://other:1", "--json").lines
    shown = {row["name"]: (row["value"], row["origin"]) for row in rows}
    assert shown["api_url"] == ("http://other:1", "flag --api") and shown["token"] == ("***", "SHOAL_TOKEN")


def test_a_laptop_loads_neither_redis_nor_flask(laptop: Laptop, jobs: Jobs) -> None:
    modules = ("api_jobs", "api_submit", "api_schedules", "api_tokens")
    code = f"import sys, {', '.join(f'shoal.cli.backends.{name}' for name in modules)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"redis", "flask", "celery", "gunicorn", "cronsim", "structlog"}.isdisjoint(loaded)
