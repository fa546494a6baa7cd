"""`shoal schedule`, with a tend that acts on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal.store.fleet.schedules import list_schedules
from shoal.store.store import Store
from tests.cli.conftest import Shell
from tests.cli.crawling import until
from tests.fleet.running import Running

RULES = """
name: books
start: [https://example.com/]
items: [{fields: {title: {css: h1}}}]
"""


@pytest.fixture
def tended(shoal: Shell) -> Iterator[Shell]:
    """In the folder of a fleet without workers."""
    with Running(shoal.folder, workers=0) as fleet:
        (shoal.folder / "shoal.toml").write_text(f'redis_url = "{fleet.redis.url}"\n')
        yield shoal


def test_a_schedule_is_added_listed_paused_and_removed(shoal: Shell) -> None:
    (shoal.folder / "list.txt").write_text("https://example.com/a\nnonsense:\nhttps://example.com/b\n")
    added = shoal("schedule", "add", "news", "--cron", "30 4 * * mon", "--zone", "Europe/Berlin", "@list.txt")
    assert added.code == 0, added.err
    assert "schedule news is added, next run 20" in added.err and "line 2" in added.err
    listed = shoal("schedule", "list")
    assert "30 4 * * mon" in listed.out and all(len(line) <= 80 for line in listed.out.splitlines())
    (record,) = shoal("schedule", "list", "--json").lines
    assert record["job"]["urls"] == 2 and record["job"]["options"]["scope"] == "listed"
    assert "is paused" in shoal("schedule", "pause", "news").err
    assert "paused" in shoal("schedule", "list").out
    assert "continues, next run" in shoal("schedule", "pause", "news", "--off").err
    assert "is removed" in shoal("schedule", "remove", "news").err
    assert "there is no schedule yet" in shoal("schedule", "list").err


def test_rules_and_options_are_kept_with_the_schedule(shoal: Shell) -> None:
    (shoal.folder / "books.yaml").write_text(RULES)
    added = shoal("schedule", "add", "books", "--cron", "0 4 * * *", "books.yaml", "--rate", "0.5", "--json")
    assert added.code == 0, added.err
    (record,) = added.lines
    assert record["job"]["rules"] and record["job"]["options"] == {"name": "books", "refresh": True, "rate": 0.5}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cron", "every day", "https://example.com"), "minute, hour, day"),
        (("--cron", "0 4 * * *", "--zone", "Nowhere", "https://example.com"), "Nowhere"),
        (("--cron", "0 4 * * *", "mailto:x"), "none of the sources"),
        (("--cron", "0 4 * * *", "https://ann:pass@example.com"), "cannot store passwords"),
        (("--cron", "0 4 * * *", "shops.books:books"), "shops"),
    ],
)
def test_an_invalid_schedule_is_refused_and_not_stored(shoal: Shell, words: tuple[str, ...], said: str) -> None:
    ran = shoal("schedule", "add", "news", *words)
    assert ran.code == 2 and said in ran.err
    assert shoal("schedule", "list", "--json").out == ""


def test_tend_starts_a_run_that_was_requested_by_hand(tended: Shell) -> None:
    assert tended("schedule", "add", "news", "--cron", "0 4 1 1 *", "https://example.com").code == 0
    ran = tended("schedule", "run", "news")
    assert ran.code == 0, ran.err
    job = ran.out.strip()
    until(lambda: tended("job", job).code == 0)
    (figures,) = tended("job", job, "--json").lines
    assert figures["name"] == "news"
    again = tended("schedule", "run", "news")
    assert again.code == 2 and f"job {job} has not ended" in again.err
    until(lambda: f"begun, job {job}" in tended("schedule", "list").out)


def test_a_webhook_and_its_secret_are_kept_with_the_schedule(shoal: Shell) -> None:
    (shoal.folder / "secret").write_text("hush\n")
    words = ("schedule", "add", "news", "--cron", "@daily", "https://example.com")
    hook = ("--webhook", "https://example.com/hook")
    assert shoal(*words, *hook, "--webhook-secret-file", "secret").code == 0
    with Store.open(shoal.home / "shoal.db") as store:
        (schedule,) = list_schedules(store)
    assert '"webhook": "https://example.com/hook"' in schedule.job and '"webhook_secret": "hush"' in schedule.job
    shown = shoal("schedule", "list", "--json").out
    assert "@daily" in shown and "hush" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--webhook", "nonsense"), "--webhook: 'nonsense' is not a URL"),
        (("--webhook-secret-file", "secret"), "webhook_secret requires webhook"),
        (("--webhook", "https://example.com/", "--webhook-secret-file", "none"), "cannot read 'none'"),
        (("--webhook", "https://example.com/", "--webhook-secret-file", "empty"), "'empty' is empty"),
    ],
)
def test_an_invalid_webhook_is_refused(shoal: Shell, words: tuple[str, ...], said: str) -> None:
    (shoal.folder / "secret").write_text("hush\n")
    (shoal.folder / "empty").write_text("\n")
    ran = shoal("schedule", "add", "news", "--cron", "@daily", "https://example.com", *words)
    assert ran.code == 2 and said in ran.err and "hush" not in ran.err
