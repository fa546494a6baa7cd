from __future__ import annotations

from dataclasses import replace

from shoal.embedded.home import Home
from shoal.model import ItemRecord, PageRecord
from shoal.practice import Running
from shoal.store.crawl.save_batch import Batch, save
from tests.cli.conftest import Shell
from tests.store.make import item_record, job_with, page, url


def keep(shoal: Shell, job: str, *pages: PageRecord) -> None:
    with Home(shoal.home) as home:
        job_with(home.store, id=job)
        save(home.store, Batch(job, pages=[replace(page, job=job) for page in pages]))


def book(price: str, key: str | None = "k") -> ItemRecord:
    return item_record("Book", {"title": "A", "price": price}, key)


def test_counts_and_samples_are_shown_in_80_columns(shoal: Shell) -> None:
    keep(shoal, "one", page(1, items=[book("3"), book("9" * 100, "l")]), page(2), page(3, digest="old"))
    keep(shoal, "two", page(1, items=[book("4")]), page(3, status=404), *(page(n) for n in range(10, 35)))
    ran = shoal("diff", "one", "two")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[:2] == ["pages: 25 added, 1 gone, 1 changed", f"  added    {url(10)}"]
    assert lines[21:] == [
        "  and 5 more added: --json lists all",
        f"  gone     {url(2)}",
        f"  changed  {url(3)} (200 -> 404)",
        "items: 0 added, 1 gone, 1 changed",
        lines[-2],
        '  changed  Book k: price "3" -> "4"',
    ]
    assert lines[-2].startswith('  gone     Book l: {"title"') and max(map(len, lines)) <= 80


def test_programs_get_every_difference_as_a_line(shoal: Shell) -> None:
    keep(shoal, "one", page(1, items=[book("3")]))
    keep(shoal, "two", page(1, items=[book("4")]), *(page(n) for n in range(10, 35)))
    lines = shoal("diff", "one", "two", "--json").lines
    assert [(line["kind"], line["change"]) for line in lines] == [("page", "added")] * 25 + [("item", "changed")]
    assert (lines[-1]["data"]["price"], lines[-1]["data_before"]["price"]) == ("4", "3")


def test_a_hostile_item_cannot_command_the_terminal(shoal: Shell) -> None:
    keep(shoal, "one")
    keep(shoal, "two", page(1, items=[book("\x1b]0;owned\x07\x9b2J")]))
    assert all(char.isprintable() for char in shoal("diff", "one", "two").out.replace("\n", ""))


def test_an_unknown_job_is_a_usage_error(shoal: Shell) -> None:
    keep(shoal, "one")
    ran = shoal("diff", "one", "nothing-like-it")
    assert ran.code == 2 and "one" in ran.err


def test_a_refresh_of_an_unchanged_site_has_no_differences(shoal: Shell, site: Running) -> None:
    first, second = (shoal.crawl(site.url(), *more).summary["job"] for more in ((), ("--refresh",)))
    before, after = (shoal("pages", job, "--json").lines for job in (first, second))
    assert {page["changed"] for page in before} == {None}
    assert {page["changed"] for page in after} == {False} and len(after) == len(before)
    assert shoal("diff", first, "last", "--json").out == ""
    shown = shoal("job", "last").out
    assert "--refresh" in shown and f"{len(after)} unchanged" in shown


def test_a_refresh_reports_changes_or_that_there_is_no_earlier_job(shoal: Shell, site: Running) -> None:
    def told(*options: str) -> str:
        refresh = ("--refresh", "--name", "shop", "--rate", "0", "--retries", "0")
        return shoal("crawl", site.url(), "--allow-private", *refresh, *options).err

    alone = told("--max-pages", "2")
    assert "  refresh: nothing to compare with: no earlier job named shop has these pages\n" in alone
    assert "  refresh: 2 unchanged, 1 new\n" in told("--max-pages", "3")
