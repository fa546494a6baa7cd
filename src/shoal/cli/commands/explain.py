"""`shoal explain`: shows what happened to a URL in a job step by step, or what would happen and which rule decides."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import long_words_shortened, safe
from shoal.jobs.explain_words import explained_lines

URL_SHOWN = 500
"""Characters: some redirects point to URLs of a hundred thousand characters."""


@click.command(cls=Command)
@click.argument("job")
@click.argument("url")
def explain(session: Session, job: str, url: str) -> None:
    """Explain what happened to URL in JOB (id, id prefix, name or "last"), or what would happen to it, and why.

    Nothing is fetched. The URL is normalized first: tracking parameters and the fragment are removed.

    \b
    shoal explain last https://example.com/about
    shoal explain last https://example.com/login --json | jq -r .outcome
    """
    with session.open_jobs() as backend:
        looked_in = backend.find(job)
        found, explanation = looked_in.job, looked_in.explain(url)
    if session.json:
        session.data({**explanation.as_dict(), "job": found.id})
        return
    for line in explained_lines(explanation, found, session.command):
        session.show(long_words_shortened(safe(line), URL_SHOWN))
