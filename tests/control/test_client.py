"""The client against a real API: a job from submit to export, any number of URLs, and answers that never come."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.client import BATCH, Client
from shoal.control.app import ROUTES
from shoal.errors import ApiError, Unavailable, UsageError
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live
from tests.fleet.proxy import Proxy
from tests.frontier.redis_server import free_port

POLITE = {"rate": 0}
NOWHERE = "https://example.invalid/"
CALLED = {
    "append_urls": "append",
    "change": "change_schedule",
    "change_running": "change",
    "drop_schedule": "remove_schedule",
    "make_token": "add_token",
    "revoke_token": "remove_token",
}
"""Operations whose calls have another name."""


@pytest.fixture
def shoal(live: Live) -> Iterator[Client]:
    with Client(live.url, live.tokens[TokenScope.ADMIN]) as client:
        yield client


def test_a_job_from_submit_to_export(live: Live, shoal: Client, tmp_path: Path) -> None:
    urls = [live.page(number) for number in range(200, 205)]
    made = shoal.submit([*urls, "mailto:x"], scope="listed", politeness=POLITE, name="five")
    assert (made["accepted"], made["rejected"]) == (5, [{"url": "mailto:x", "reason": "not_http"}])
    job = shoal.wait(made["id"], timeout_s=60)
    assert (job["state"], job["pages"], job["name"]) == ("done", 5, "five")
    assert sorted(page["url"] for page in shoal.pages(made["id"], status=200)) == sorted(urls)
    assert list(shoal.pages(made["id"], status=404)) == []
    assert [other["id"] for other in shoal.jobs(name="five")] == [made["id"]]
    assert shoal.explain(made["id"], urls[0])["outcome"] == "page"
    size = shoal.export(made["id"], tmp_path / "five.csv", what="inputs")
    assert size == (tmp_path / "five.csv").stat().st_size and len((tmp_path / "five.csv").read_text().splitlines()) == 7
    assert list(tmp_path.iterdir()) == [tmp_path / "five.csv"]
    shoal.remove(made["id"])
    with pytest.raises(ApiError) as unknown:
        shoal.job(made["id"])
    assert unknown.value.status == 404


def test_every_api_call_has_a_client_method() -> None:
    calls = {operation.name for routes in ROUTES for operation in routes.operations if operation.scope}
    assert [name for name in sorted(calls) if not hasattr(Client, CALLED.get(name, name))] == []


def test_any_number_of_urls_is_appended_and_bad_ones_are_listed_by_line(shoal: Client) -> None:
    job = shoal.submit([NOWHERE], lane="slow")["id"]
    shoal.pause(job)
    urls = (f"{NOWHERE}{number}" if number % 4_000 else "/bad" for number in range(1, BATCH + 5_001))
    told = shoal.append(job, urls)
    assert (told["accepted"], told["rejected_count"]) == (BATCH + 5_000 - 3, 3)
    assert [bad["line"] for bad in told["rejected"]] == [4_000, 8_000, 12_000]
    shoal.cancel(job)


def test_a_file_is_appended_unchanged(shoal: Client) -> None:
    job = shoal.submit(urls_follow=True, lane="slow")["id"]
    assert shoal.job(job)["state"] == "waiting"
    told = shoal.append_lines(job, io.BytesIO(b"shop,site\nOne,example.invalid/1\nTwo,\n"), column="site")
    assert (told["accepted"], told["rejected"]) == (1, [{"line": 3, "url": "", "reason": "empty"}])
    shoal.pause(job)
    assert "continues" in shoal.resume(job) and "cancelled" in shoal.cancel(job)


def test_every_item_and_page_is_listed_over_any_number_of_cursors(live: Live, shoal: Client) -> None:
    rules = {"name": "books", "start": [live.site.url("/")], "follow": [{"css": "a"}]}
    rules["items"] = [{"each": "article.product_pod", "fields": {"title": {"css": "h3 a"}}}]
    job = shoal.submit(rules=rules, politeness=POLITE)["id"]
    figures = shoal.wait(job, timeout_s=60)
    assert figures["items"] > 20
    assert len(list(shoal.items(job))) == figures["items"]
    whole = list(shoal._parts(f"/jobs/{job}/pages", "pages", {}, limit=7))
    assert len({page["url"] for page in whole}) == len(whole) == figures["pages"] > 7
    lines = b"".join(shoal.exported(job)).splitlines()
    assert len([json.loads(line) for line in lines]) == figures["items"]


def test_dead_letters_are_listed_and_retried(shoal: Client) -> None:
    job = shoal.submit(["http://127.0.0.1:9/"], retries=0)["id"]
    assert shoal.wait(job, timeout_s=60)["state"] == "failed"
    (letter,) = shoal.dead(job)
    assert letter["url"] == "http://127.0.0.1:9/" and list(shoal.dead(job, host="example.com")) == []
    assert (shoal.retry(job, host="example.com"), shoal.retry(job)) == (0, 1)


def test_a_job_with_a_slash_in_its_name_is_steered_and_removed_by_it(shoal: Client) -> None:
    name = "team/new books"
    id = shoal.submit([NOWHERE], name=name, lane="slow")["id"]
    assert shoal.job(name)["id"] == id
    shoal.cancel(name)
    shoal.remove(name, confirm=id)
    with pytest.raises(ApiError):
        shoal.job(id)


def test_waiting_for_a_job_raises_after_the_timeout(shoal: Client) -> None:
    job = shoal.submit([NOWHERE], lane="slow")["id"]
    shoal.pause(job)
    with pytest.raises(TimeoutError, match=r"paused after 0\.1 s"):
        shoal.wait(job, timeout_s=0.1)


def test_a_job_is_changed_while_it_runs_and_its_dead_letters_are_counted_and_forgotten(shoal: Client) -> None:
    job = shoal.submit([NOWHERE, f"{NOWHERE}a.pdf"], lane="slow")["id"]
    version = shoal.job(job)["version"]
    assert shoal.change(job, version=version, limits={"pages": 7}) == version + 1
    with pytest.raises(ApiError, match="no longer at version"):
        shoal.change(job, version=version, limits={"pages": 8})
    assert shoal.preview(job, exclude=["*.pdf"])["version"] == version + 1
    assert (shoal.spec("last")["spec"]["limits"]["pages"], shoal.overview(job)["job"]["version"]) == (7, version + 1)
    shoal.cancel(job)
    failed = shoal.submit(["http://127.0.0.1:9/"], retries=0)["id"]
    shoal.wait(failed, timeout_s=60)
    (group,) = shoal.dead_groups(failed, "host")
    assert (group["host"], group["count"]) == ("127.0.0.1:9", 1)
    assert (shoal.purge(failed, host="example.com"), shoal.purge(failed)) == (0, 1)


def test_the_fleet_is_read_and_controlled(live: Live, shoal: Client) -> None:
    assert shoal.stats()["workers"] == 1 and shoal.workers()
    before = shoal.exclusions()
    more = shoal.set_exclusions([*before["lines"], "excluded.example"], version=before["version"])
    assert more == {"version": before["version"] + 1, "lines": [*before["lines"], "excluded.example"]}
    with pytest.raises(ApiError, match="version"):
        shoal.set_exclusions([], version=before["version"])
    assert shoal.set_exclusions(before["lines"])["lines"] == before["lines"]
    assert shoal.change_token("live-read", "submit")["scope"] == "submit"
    assert shoal.change_token("live-read", "read")["scope"] == "read"


def test_a_response_that_is_not_read_to_its_end_does_not_block_the_next_call(live: Live, shoal: Client) -> None:
    job = shoal.submit([live.page(number) for number in range(700, 703)], scope="listed", politeness=POLITE)["id"]
    shoal.wait(job, timeout_s=60)
    rows = shoal.rows(job, "pages")
    assert next(rows)["status"] == 200
    rows.close()
    assert shoal.job(job)["pages"] == 3


def test_one_page_now(live: Live, shoal: Client) -> None:
    told = shoal.scrape(live.page(300), "text", "links")
    assert "outcome" in told
    assert told["outcome"] == "page" and told["text"] and told["links"]


def test_an_error_has_the_fields_of_the_problem(live: Live, shoal: Client) -> None:
    with pytest.raises(ApiError) as wrong:
        shoal.submit([NOWHERE], limits={"pages": 0})
    error = wrong.value
    assert (error.status, error.title, error.exit_code) == (422, "Unprocessable Entity", 2)
    assert error.errors[0]["field"] == "limits.pages" and error.request_id and "limits.pages" in str(error)
    with Client(live.url, "shoal_wrong") as stranger, pytest.raises(ApiError) as refused:
        stranger.job("x")
    assert refused.value.status == 401


def test_a_lost_answer_creates_no_second_job(live: Live) -> None:
    with (
        Proxy(int(live.url.rpartition(":")[2])) as between,
        Client(f"http://127.0.0.1:{between.port}", live.tokens[TokenScope.ADMIN]) as shoal,
    ):
        between.break_answers(2)
        job = shoal.submit([NOWHERE], name="only-once", lane="slow")["id"]
        assert between.breaks_left == 0
        assert [made["id"] for made in shoal.jobs(name="only-once")] == [job]


def test_an_interrupted_export_leaves_no_file(live: Live, tmp_path: Path) -> None:
    with (
        Proxy(int(live.url.rpartition(":")[2])) as between,
        Client(f"http://127.0.0.1:{between.port}", live.tokens[TokenScope.ADMIN], patience_s=0.1) as shoal,
    ):
        job = shoal.submit([NOWHERE], lane="slow")["id"]
        between.break_answers(1)
        with pytest.raises(Unavailable, match="does not answer"):
            shoal.export(job, tmp_path / "pages.jsonl")
        assert list(tmp_path.iterdir()) == []


def test_an_api_that_is_away_is_named() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with Client(address, "shoal_x", patience_s=0.1) as shoal, pytest.raises(Unavailable, match=address):
        shoal.job("x")


def test_an_unknown_format_is_refused(shoal: Client, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.parquet"):
        shoal.export("x", tmp_path / "pages.xml")
