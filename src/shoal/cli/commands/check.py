"""`shoal check`: validates a spider or rules file and shows what each of its fields extracts from a page."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import click

from shoal.cli.fetch_flags import fetch_flags, fetch_options
from shoal.cli.humanize import plural
from shoal.cli.job_flags import flag
from shoal.cli.job_text import skip_words
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, shortened, table
from shoal.jobs.fetch_one_page import NO_URL, PageUnavailable, fetch_page, open_page
from shoal.jobs.try_on_page import try_on_page
from shoal.model.options import OPTIONS
from shoal.spiders.callback_trial import FieldTrial, ItemTrial, Trial, start_urls
from shoal.spiders.load_spider import load_spider
from shoal.spiders.page import Page
from shoal.spiders.spider import Spider

EXIT_EMPTY = 3
SHOWN = 5
"""Faults shown per field, and reasons for rejects."""
_VALUE_CHARS = 40


@click.command(cls=Command)
@click.argument("file")
@click.option("--url", multiple=True, metavar="URL", help="Fetch this page once and try FILE on it. Repeatable.")
@click.option("--file", "saved", multiple=True, metavar="PAGE", help="Try FILE on this saved page. Repeatable.")
@click.option("--callback", default="", metavar="NAME", help="Callback to run. Default: the start callback.")
@flag("argument")
@fetch_flags
def check(
    session: Session,
    file: str,
    url: tuple[str, ...],
    saved: tuple[str, ...],
    callback: str,
    argument: tuple[str, ...],
    **given: Any,
) -> None:
    """Test the spider or rules in FILE: show what each field extracts from a page, and which fields are empty.

    Without --url or --file only FILE itself is validated. Exit code 2: FILE has an error; 3: a required field is empty
    on every page, or a callback failed.

    \b
    shoal check books.py
    shoal check books.py --url https://books.toscrape.com/
    shoal check books.yaml --callback detail --file a.html --file b.html
    """
    spider = load_spider(file).with_arguments(OPTIONS["argument"].to_field(argument))
    spider.named(callback)
    trials = [try_on_page(spider, callback, page) for page in _pages(session, spider, url, saved, given)]
    if not trials:
        _show_spider(session, spider)
    for trial in trials:
        _show_as_json(session, trial) if session.json else _show_as_text(session, trial)
    missing = _empty_everywhere(trials)
    if session.json and trials:
        session.data({"type": "summary", **_figures(trials), "missing": missing})
    for name in missing:
        session.say(f"{safe(name)} is required, and empty on every page")
    if missing or any(trial.failure for trial in trials):
        raise click.exceptions.Exit(EXIT_EMPTY)


def _pages(
    session: Session, spider: Spider, urls: tuple[str, ...], saved: tuple[str, ...], given: dict[str, Any]
) -> Iterator[Page]:

    for path in saved:
        yield open_page(path, next(iter(start_urls(spider)), NO_URL))
    for url in urls:
        page = fetch_page(url, fetch_options(session, given, dict(spider.options)))
        if not 200 <= page.status < 300:
            raise PageUnavailable(f"{page.url} answered {page.status}: a spider gets only pages with status 2xx")
        yield page


def _empty_everywhere(trials: list[Trial]) -> list[str]:
    places: defaultdict[str, list[FieldTrial]] = defaultdict(list)
    for trial in trials:
        for kind in trial.kinds:
            for field in kind.fields.values():
                places[f"{kind.type}.{field.name}"].append(field)
    return [name for name, fields in places.items() if all(field.nowhere for field in fields)]


def _figures(trials: list[Trial]) -> dict[str, int]:
    return {
        "pages": len(trials),
        "items": sum(len(trial.items) for trial in trials),
        "rejects": sum(len(trial.rejects) for trial in trials),
        "failed": sum(trial.failure is not None for trial in trials),
    }


def _show_spider(session: Session, spider: Spider) -> None:
    callbacks = sorted(set(filter(None, spider.callbacks)) - {spider.start.__name__})
    start = start_urls(spider)
    if session.json:
        session.data({"type": "file", "name": spider.name, "start": start, "callbacks": callbacks})
        return
    session.show(f"{safe(spider.name)} is valid; it starts from {', '.join(map(safe, start)) or 'no URL'}")
    if callbacks:
        session.show(f"callbacks: {', '.join(callbacks)}")
    session.say("to see what it extracts: --url URL or --file PAGE")


def _show_as_json(session: Session, trial: Trial) -> None:
    from dataclasses import asdict

    kinds = [{**asdict(kind), "fields": [_field_data(field) for field in kind.fields.values()]} for kind in trial.kinds]
    session.data(
        {
            "type": "check",
            "url": trial.url,
            "callback": trial.callback,
            "failure": trial.failure,
            "items": [{"type": item.type, "data": item.data, "key": item.key} for item in trial.items],
            "rejects": [asdict(reject) for reject in trial.rejects],
            "kinds": kinds,
            "follows": [asdict(follow) for follow in trial.follows],
        }
    )


def _field_data(field: FieldTrial) -> dict[str, Any]:
    return {
        "name": field.name,
        "source": field.source,
        "required": field.required,
        "filled": field.filled,
        "empty": field.empty,
        "sample": field.sample,
        "faults": [{"text": text, "reason": reason} for text, reason in field.faults],
    }


def _show_as_text(session: Session, trial: Trial) -> None:
    title = f"{safe(trial.callback)} on {safe(trial.url)}"
    if trial.failure:
        session.show(f"{title}: failed")
        session.show(f"  {safe(trial.failure)}")
        return
    session.show(f"{title}: {plural(len(trial.items), 'item')}, {plural(len(trial.rejects), 'reject')}")
    width = shutil.get_terminal_size().columns
    for kind in trial.kinds:
        for line in _kind_lines(kind, width):
            session.show(line)
    for line in [*_reject_lines(trial), *_follow_lines(trial)]:
        session.show(line)
    if not (trial.items or trial.rejects or trial.follows):
        session.show("nothing found on this page")


def _kind_lines(kind: ItemTrial, width: int) -> Iterator[str]:
    source = f" ({safe(kind.source)})" if kind.source else ""
    yield f"{safe(kind.type)} from {plural(kind.places, 'place')}{source}"
    rows = [_cells(field, kind.places) for field in kind.fields.values()]
    if rows:
        yield from (
            f"  {line}" for line in table(rows, ("field", "filled", "value", "from"), width - 2, frozenset({1}))
        )
    for field in kind.fields.values():
        yield from _fault_lines(field)


def _cells(field: FieldTrial, places: int) -> tuple[str, ...]:
    value = "–" if field.sample is None else shortened(safe(str(field.sample)), _VALUE_CHARS)
    name = field.name if field.required else f"{field.name}?"
    return safe(name), f"{field.filled}/{places}", value, safe(field.source) or "–"


def _fault_lines(field: FieldTrial) -> Iterator[str]:
    faults = Counter(reason for _, reason in field.faults)
    for reason, n in faults.most_common(SHOWN):
        yield f"  {safe(field.name)}: {safe(reason)}{f' (x{n})' if n > 1 else ''}"
    if len(faults) > SHOWN:
        yield f"  {safe(field.name)}: and {len(faults) - SHOWN} more faults: --json lists all"


def _reject_lines(trial: Trial) -> Iterator[str]:
    reasons = Counter((reject.type, reject.reason) for reject in trial.rejects)
    for (kind, reason), n in reasons.most_common(SHOWN):
        yield f"rejected: {n} x {safe(kind)}: {safe(reason)}"
    if len(reasons) > SHOWN:
        yield f"rejected for {len(reasons) - SHOWN} more reasons: --json lists all"


def _follow_lines(trial: Trial) -> Iterator[str]:
    offered: defaultdict[str, list[str]] = defaultdict(list)
    refused: Counter[str] = Counter()
    for follow in trial.follows:
        if follow.refusal:
            refused[follow.refusal] += 1
        elif follow.url not in offered[follow.callback]:
            offered[follow.callback].append(follow.url)
    for callback, urls in offered.items():
        if urls:
            yield f"follows {plural(len(urls), 'URL')} to {safe(callback)}, e.g. {safe(urls[0])}"
    for reason, n in refused.most_common():
        yield f"would not follow {n}: {skip_words(reason)}"
