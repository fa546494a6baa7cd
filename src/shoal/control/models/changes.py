"""What of a job can be changed while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from shoal.control.models.given import Change, Query, Told
from shoal.control.models.jobs import LimitsGiven, Patterns, PerHost, Priority, Rate
from shoal.model import JobSpec, Lane, ScopeKind


class LimitsChange(Change, LimitsGiven):
    """What ends the job early; null: no limit any more."""


class PaceChange(Change):
    """A rate of 0 or above the operator's max_rate needs an admin."""

    rate: Rate = 2.0
    per_host: PerHost = 2


class JobChange(Change):
    """What is left out stays as it is; a limit that is null is lifted."""

    limits: LimitsChange = LimitsChange()
    politeness: PaceChange = PaceChange()
    scope: ScopeKind = Field(ScopeKind.HOST, description="What is queued and not of it any more is dropped.")
    include: Patterns = Field((), description="In place of those it has.")
    exclude: Patterns = Field((), description="In place of those it has; what is queued and matches is dropped.")
    lane: Lane = Lane.BATCH
    priority: Priority = 0

    def applied(self, spec: JobSpec) -> JobSpec:
        given = self.model_dump(exclude_unset=True)
        return replace(
            spec,
            **{
                **given,
                "limits": replace(spec.limits, **given.get("limits", {})),
                "politeness": replace(spec.politeness, **given.get("politeness", {})),
            },
        )


class ChangeQuery(Query):
    version: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Change the job only if it is still of this version."
    )
    preview: bool = Field(False, description="Change nothing; say what would be dropped.")


class Changed(Told):
    """The job from now on, or with `preview` what would become of what is queued."""

    id: str
    version: int = Field(description="One more with every change.")
    queued: int | None = Field(None, description="Of a preview.")
    would_drop: int | None = Field(None, description="Of a preview: how many of them are no longer wanted.")
    is_estimate: bool | None = Field(None, description="Of a preview: only a part of the queue was looked at.")
