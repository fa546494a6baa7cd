"""What of a job can be changed while it runs."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from shoal.control.models.job_options import change_model, changed_fields, check_given_once
from shoal.control.models.strict_models import PatchBody, QueryModel
from shoal.model import JobSpec

_LimitsChange = change_model(
    "LimitsChange",
    PatchBody,
    "Options that end the job early, as a stored job has them. null removes a limit.",
    "limits",
)
_PaceChange = change_model(
    "PaceChange", PatchBody, "Options for how the job treats hosts, as a stored job has them.", "politeness"
)
_Changes = change_model(
    "_Changes",
    PatchBody,
    "",
    "",
    limits=(_LimitsChange, _LimitsChange()),
    politeness=(_PaceChange, _PaceChange()),
)


class JobChange(_Changes):  # type: ignore[misc,valid-type]
    """The options to change. Those that are left out stay as they are, and null removes a limit.

    Patterns replace those of the job. Queued URLs that a new scope or pattern excludes are dropped. A rate of 0, or
    above the operator's max_rate, needs an admin.
    """

    def given(self) -> dict[str, Any]:
        """The fields that change, by group."""
        return changed_fields(self)

    @model_validator(mode="after")
    def _once(self) -> Self:
        check_given_once(self)
        return self

    def applied(self, spec: JobSpec) -> JobSpec:
        return spec.with_fields(self.given())


class ChangeQuery(QueryModel):
    version: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Change the job only if it is still of this version."
    )
    preview: bool = Field(False, description="Change nothing; say what would be dropped.")
