"""Delivers to the sinks of a job what changed while no crawl was running, such as after `shoal extract`."""

from __future__ import annotations

from shoal.cli.session import Session
from shoal.cli.terminal_text import safe
from shoal.errors import Unavailable
from shoal.jobs.deployment import Deployment
from shoal.model import ENDED
from shoal.store.crawl.sink_state import sinks_behind
from shoal.store.jobs import Job, load_job


def deliver_rest(session: Session, place: Deployment, job: Job) -> None:
    """One try, in this process. A fleet delivers by itself, and so does the process that crawls the job."""
    found = load_job(place.store, job.id)
    if not found.spec.sinks or found.fleet or found.state not in ENDED or not sinks_behind(place.store, job.id):
        return
    from shoal.sinks.deliver_pending import deliver_pending

    try:
        with place.at_rest(found):
            left = deliver_pending(place.store, found, session.settings.secrets)
    except Unavailable:
        # The process that crawls the job delivers it.
        return
    if left is None or session.json or session.quiet:
        return
    words = f"sink behind by {left.behind:,}" + (f": {safe(left.fault)}" if left.fault else "")
    session.say(f"{words}; deliver the rest: {session.command('resume', job.id)}")
