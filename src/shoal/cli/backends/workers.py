"""The processes of a fleet, from its API or from its Redis."""

from __future__ import annotations

from dataclasses import asdict

from shoal.cli.backends import Record
from shoal.cli.session import Session
from shoal.errors import UsageError


def list_workers(session: Session) -> list[Record]:
    """Raises UsageError for a home."""
    if session.settings.api_url:
        with session.open_client() as client:
            return [dict(worker) for worker in client.workers()]
    if session.settings.redis_url is None:
        raise UsageError(
            f"{session.settings.home} has no fleet: each crawl runs in the process of its command (`shoal jobs`); "
            "`shoal up` starts a fleet"
        )
    return session.run(_of_fleet(session))


async def _of_fleet(session: Session) -> list[Record]:
    # Imported here: redis-py takes a tenth of a second.
    from shoal.fleet.fleet import Fleet
    from shoal.fleet.roster import entries

    fleet = Fleet(session.settings)
    try:
        return [asdict(entry) for entry in await entries(fleet.frontier.connection)]
    finally:
        await fleet.close()
