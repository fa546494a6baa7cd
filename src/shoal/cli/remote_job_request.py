"""A crawl that runs elsewhere. Lists and rules are read here and sent as data; a spider is sent by its name."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from shoal.cli.garbage_collection import nothing_collected
from shoal.cli.job_request import given_options, listed
from shoal.cli.project_options import with_project_options
from shoal.cli.session import Session
from shoal.errors import UsageError
from shoal.model import Input, Requester, ScopeKind
from shoal.model.options import to_fields
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.input_sources import Sources, StreamWrapper, expand_words, read_sources
from shoal.spiders.spider_reference import SPIDER_MODULE, find_spider, names_spider
from shoal.spiders.url_lists import AUTHORITY_WITH_USER, SPELT_CHARS
from shoal.urls import origin_of


@dataclass(frozen=True, slots=True)
class RemoteJobRequest:
    words: list[str]
    """URLs and lists; none: what the spider or the rules begin with, alone."""
    sources: Sources | None
    """What the words stand for, if there are any."""
    rules: dict[str, Any] | None
    spider: str | None
    options: dict[str, Any]
    """Those that were given, by their names in the table of options."""

    @property
    def listed(self) -> int | None:
        return None if self.sources is None else listed(self.sources, self.options.get("scope"))

    def fields(self, **defaults: Any) -> dict[str, Any]:
        """The fields of `POST /jobs`, all but the URLs; `defaults` are options that hold if they were not given."""
        sent = {"rules": self.rules, "spider": self.spider}
        return {
            **to_fields({**defaults, **self.options}),
            **{name: value for name, value in sent.items() if value is not None},
        }

    def urls(self) -> list[str]:
        """Those that can be fetched, all held, as a schedule holds them."""
        sources = self.sources
        return [] if sources is None else [url_of(one, sources) for one in sources.inputs if one.target is not None]


def url_of(one: Input, sources: Sources) -> str:
    """As it was spelt, unless that is cut or has lost its password."""
    assert one.target is not None
    if len(one.spelt) < SPELT_CHARS and not AUTHORITY_WITH_USER.match(one.spelt):
        return one.spelt
    url = one.target.url
    user, colon, password = sources.credentials.get(origin_of(url), "").partition(":")
    return url.replace("://", f"://{quote(user, safe='')}:{quote(password, safe='')}@", 1) if colon else url


def read_remote_request(
    session: Session,
    source: tuple[str, ...],
    column: str | None,
    options: dict[str, Any],
    passed: StreamWrapper = lambda stream: stream,
) -> RemoteJobRequest:
    """Lists are read through `passed`. Raises UsageError for all that can be wrong before that."""
    named = [word for word in source if SPIDER_MODULE.fullmatch(word) and names_spider(word)]
    # One that is named by its import path is loaded where it is to run, and need not be here.
    with nothing_collected():
        spider, given_words = find_spider([word for word in source if word not in named])
    words = expand_words(given_words)
    if len(named) + (spider is not None) > 1:
        raise UsageError(f"{named[-1]!r} is a second spider: a job takes only one")
    if spider is not None and spider.rules is None:
        raise UsageError("cannot send a local spider file to a fleet: name package.module:name instead")
    chosen = with_project_options(session, source, given_options(options), spider)
    given: dict[str, Any] = json.loads(json.dumps(chosen))
    sources = None
    if words:
        draft = JobDraft.of(given, spider, False, Requester.ADMIN)
        sources = read_sources(words, draft.params, draft.group, column, sys.stdin.buffer, passed)
        if sources.listed and "scope" not in draft.options:
            given["scope"] = ScopeKind.LISTED.value
    rules = json.loads(spider.rules) if spider is not None and spider.rules is not None else None
    return RemoteJobRequest(words, sources, rules, named[0] if named else None, given)
