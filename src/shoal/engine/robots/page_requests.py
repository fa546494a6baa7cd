"""What a rendered page may request besides its document: the operator's exclusions hold for all of it, and robots.txt
for calls and frames, if the job wants that."""

from __future__ import annotations

from shoal.engine.active_job import ActiveJob
from shoal.engine.robots.check import RobotsCheck
from shoal.errors import InvalidURL
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model import Lease
from shoal.model.rendering import Rendering
from shoal.urls.canonical import canonical

BY_ROBOTS = "refused by robots.txt"


def rules_of_page(
    robots: RobotsCheck, lease: Lease, active_job: ActiveJob, rendering: Rendering
) -> SubresourceRules | None:
    """None: the page may request whatever it likes, so the browser need not ask."""
    exclusions = active_job.exclusions

    async def refusal(url: str, is_call: bool) -> str | None:
        try:
            target = canonical(url)
        except InvalidURL as error:
            return str(error)
        if line := exclusions.line_for(target):
            return f"the operator excludes {line}"
        if rendering.robots_strict and is_call and not await robots.allows_call(url, lease, active_job):
            return BY_ROBOTS
        return None

    if not exclusions and not rendering.robots_strict:
        return None
    return SubresourceRules(refusal, for_assets=bool(exclusions))
