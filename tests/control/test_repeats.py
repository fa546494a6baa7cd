"""A POST that is repeated has its effect once; a token that asks too often is told when to come back."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from shoal.control.idempotency import WAIT_S
from shoal.control.rate_limits import PER_S, SUBMITS
from shoal.store.fleet.idempotency import ABANDONED_S, IdempotencyClaim, claim, release_claim, store_response, take_over
from shoal.store.fleet.tokens import TokenScope, list_tokens
from shoal.store.jobs import list_jobs
from shoal.store.tables import answers
from tests.cli.crawling import until
from tests.control.calling import Api, problem, slots_taken

BODY = {"urls": ["https://example.com/"]}
KEY = {"Idempotency-Key": "first"}


def jobs(api: Api) -> list[str]:
    return [job.id for job in list_jobs(api.bridge.store, 100)]


def test_a_repeated_submit_gets_the_first_answer_and_makes_no_second_job(api: Api) -> None:
    first, again = (api("POST", "/jobs", BODY, headers=KEY) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.get_json() == again.get_json()
    assert jobs(api) == [first.get_json()["id"]]


def test_a_repeated_scrape_schedule_or_run_has_its_effect_once(api: Api) -> None:
    page = {"url": "https://example.com/", "timeout_s": 0.1}
    scraped = [api("POST", "/scrape", page, headers=KEY) for _ in range(2)]
    assert {one.status_code for one in scraped} == {202}
    assert jobs(api) == [scraped[0].get_json()["id"]] == [scraped[1].get_json()["id"]]
    order = {"name": "n", "cron": "0 4 * * *", "job": BODY}
    made = [api("POST", "/schedules", order, headers={"Idempotency-Key": "s"}) for _ in range(2)]
    assert [one.status_code for one in made] == [201, 201] and made[0].get_json() == made[1].get_json()
    runs = [api("POST", "/schedules/n/run", headers={"Idempotency-Key": "r"}) for _ in range(2)]
    assert {one.status_code for one in runs} == {202} and len(api.get("/schedules/n")["runs"]) == 1


def test_a_scrape_whose_first_answer_was_lost_makes_no_second_job(api: Api) -> None:
    page = {"url": "https://example.com/", "timeout_s": 0.1}
    first = api("POST", "/scrape", page, headers=KEY).get_json()
    with api.bridge.store.write() as db:
        # As if its process had been killed while it waited.
        db.execute(update(answers).values(status=None, body=None, claimed_at=time.time() - ABANDONED_S - 1))
    assert api("POST", "/scrape", page, headers=KEY).get_json()["id"] == first["id"]
    assert jobs(api) == [first["id"]]


def test_two_at_once_get_one_job(api: Api) -> None:
    begin = threading.Barrier(4)

    def submit(_: int) -> str:
        begin.wait()
        answered = api("POST", "/jobs", BODY, headers=KEY)
        assert answered.status_code == 201, answered.text
        return str(answered.get_json()["id"])

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(submit, range(4)))
    assert ids == set(jobs(api)) and len(ids) == 1


def test_a_key_belongs_to_one_request_of_one_token(api: Api) -> None:
    api("POST", "/jobs", BODY, headers=KEY)
    problem(api("POST", "/jobs", {"urls": ["https://example.org/"]}, headers=KEY), 422)
    assert api("POST", "/jobs", BODY, TokenScope.SUBMIT, headers=KEY).status_code == 201
    assert len(jobs(api)) == 2
    problem(api("POST", "/jobs", BODY, headers={"Idempotency-Key": "x" * 201}), 422)


def test_a_request_that_failed_may_be_repeated(api: Api) -> None:
    wrong = {"urls": ["mailto:x"]}
    problem(api("POST", "/jobs", wrong, headers=KEY), 422)
    problem(api("POST", "/jobs", wrong, headers=KEY), 422)
    assert api("POST", "/jobs", BODY, headers=KEY).status_code == 201


def test_what_a_process_made_before_it_died_is_not_made_again(api: Api) -> None:
    first = api("POST", "/jobs", BODY, headers=KEY).get_json()
    with api.bridge.store.write() as db:
        # As if it had been killed between storing the job and its answer.
        db.execute(update(answers).values(status=None, body=None, claimed_at=time.time() - ABANDONED_S - 1))
    again = api("POST", "/jobs", BODY, headers=KEY)
    assert again.status_code == 201
    assert again.get_json() == first and jobs(api) == [first["id"]]


def test_a_request_that_fails_after_its_job_was_made_makes_no_second_one(api: Api) -> None:
    page = {"url": "https://example.com/", "timeout_s": 5}
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api, "POST", "/scrape", page, headers=KEY)
        (made,) = until(lambda: jobs(api))
        rename(api, "inputs", "away")
        assert waiting.result(60).status_code >= 500
    rename(api, "away", "inputs")
    answered = api("POST", "/scrape", page, headers=KEY)
    assert (answered.status_code, answered.get_json()["id"]) == (202, made)
    assert jobs(api) == [made]


def rename(api: Api, table: str, name: str) -> None:
    with api.bridge.store.write() as db:
        db.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {name}")


def test_whoever_repeats_a_key_waits_only_while_others_have_threads(api: Api) -> None:
    (token,) = [one for one in list_tokens(api.bridge.store) if one.scope is TokenScope.ADMIN]
    assert claim(api.bridge.store, IdempotencyClaim(token.id, "first", request_hash(api), "job-1", time.time())) is None
    with slots_taken(api):
        began = time.monotonic()
        refused = api("POST", "/jobs", BODY, headers=KEY)
        assert time.monotonic() - began < WAIT_S / 2
        problem(refused, 409)
        assert int(refused.headers["Retry-After"]) > 0


def test_a_claim_that_was_taken_over_is_the_firsts_again_when_the_second_fails(api: Api) -> None:
    store, now = api.bridge.store, time.time()
    first = IdempotencyClaim("t", "k", "hash", "job-1", now - ABANDONED_S - 1)
    assert claim(store, first) is None
    second = take_over(store, first, now)
    assert second is not None and second.job == "job-1" and take_over(store, first, now) is None
    release_claim(store, first)
    release_claim(store, second)
    kept = claim(store, IdempotencyClaim("t", "k", "hash", "job-2", now))
    assert kept is not None and kept.claim == first, "neither removed what may be the other's"
    store_response(store, first, 201, "{}")
    kept = claim(store, IdempotencyClaim("t", "k", "hash", "job-2", now))
    assert kept is not None and (kept.status, kept.body) == (201, "{}")


def test_whoever_waits_for_a_key_that_another_request_then_has_is_refused(api: Api) -> None:
    store = api.bridge.store
    (token,) = [one for one in list_tokens(store) if one.scope is TokenScope.ADMIN]
    with ThreadPoolExecutor(1) as pool:
        first = IdempotencyClaim(token.id, "first", request_hash(api), "job-1", time.time())
        assert claim(store, first) is None
        waiting = pool.submit(api, "POST", "/jobs", BODY, headers=KEY)
        time.sleep(0.3)
        assert not waiting.done()
        with store.write() as db:
            db.execute(update(answers).values(request="another", status=201, body="{}"))
        problem(waiting.result(60), 422)


def request_hash(api: Api) -> str:
    """Of BODY, as the API keeps it."""
    assert api("POST", "/jobs", BODY, headers={"Idempotency-Key": "other"}).status_code == 201
    with api.bridge.store.read() as db:
        return str(db.execute(select(answers.c.request)).scalar_one())


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not end, however long the calls take."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.mark.usefixtures("one_minute")
def test_a_token_has_its_share_of_submits_in_a_minute(api: Api) -> None:
    answered = [api("POST", "/jobs", {}, TokenScope.SUBMIT) for _ in range(SUBMITS)]
    assert {one.status_code for one in answered} == {422}
    assert (answered[0].headers["RateLimit-Limit"], answered[-1].headers["RateLimit-Remaining"]) == (str(SUBMITS), "0")
    refused = api("POST", "/jobs", BODY, TokenScope.SUBMIT)
    problem(refused, 429)
    assert 0 < int(refused.headers["Retry-After"]) <= PER_S
    assert refused.headers["RateLimit-Reset"] == refused.headers["Retry-After"]
    assert api("POST", "/jobs", BODY, TokenScope.ADMIN).status_code == 201
    assert api("GET", "/jobs", scope=TokenScope.SUBMIT).status_code == 200


@pytest.mark.usefixtures("one_minute")
def test_whatever_begins_work_counts_as_a_submit(api: Api) -> None:
    job = api.submit("https://example.com/")
    for path in ("/scrape", "/schedules", "/schedules/none/run", f"/jobs/{job}/dead/retry", f"/jobs/{job}/urls"):
        assert "RateLimit-Remaining" in api("POST", path, {}).headers, path
    lines = api("POST", f"/jobs/{job}/urls", data=b"example.com/a\n", headers={"Content-Type": "text/plain"})
    assert lines.status_code == 200 and int(lines.headers["RateLimit-Remaining"]) < SUBMITS - 4
    assert "RateLimit-Remaining" not in api("POST", f"/jobs/{job}/pause").headers
