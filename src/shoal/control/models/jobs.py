"""A job as it is submitted, and the query of the list of jobs."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict, JsonValue

from shoal.control.models.job_options import check_given_once, given_options, order_model
from shoal.control.models.strict_models import WHOLE, Cursor, QueryModel, RequestBody, Text
from shoal.model import Lane

_WITH_RULES: JsonDict = {"required": ["rules"], "properties": {"rules": {"type": "object"}}}
_WITH_SPIDER: JsonDict = {"required": ["spider"], "properties": {"spider": {"type": "string"}}}
_WITH_SCRAPY: JsonDict = {"required": ["scrapy"], "properties": {"scrapy": {"type": "object"}}}
_KINDS = (_WITH_RULES, _WITH_SPIDER, _WITH_SCRAPY)
_REFUSED: list[JsonValue] = [{"allOf": list(pair)} for pair in combinations(_KINDS, 2)]
_REFUSED += [{"allOf": [_WITH_SCRAPY, {"required": ["urls"]}]}]
"""What does not go together."""
_Named = Annotated[dict[Annotated[str, Field(min_length=1, max_length=200)], Text], Field(max_length=200)]


class ScrapyGiven(RequestBody):
    """A spider of a Scrapy project that the workers run."""

    project: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="One that was uploaded, or that the operator names in SHOAL_SCRAPY_PROJECTS."
    )
    spider: Annotated[str, Field(min_length=1, max_length=200)]
    version: Text | None = Field(None, description="Of an uploaded project; the latest if there is none.")
    arguments: _Named = Field({}, description="As `scrapy crawl -a` gives them.")
    settings: _Named = Field({}, description="As `scrapy crawl -s` gives them. Most need an admin.")
    processes: Annotated[int, Field(ge=1, le=1_000), WHOLE] = Field(1, description="More than one needs an admin.")


class _Sources(RequestBody):
    urls: Annotated[tuple[str | None, ...], Field(fail_fast=True)] = Field(
        (), description="Where to start. null stands for a line without a URL, so that the others keep their numbers."
    )
    rules: dict[str, Any] | None = Field(
        None,
        description="Rules as JSON: see `shoal check` and docs/reference/rules.md.",
        json_schema_extra={"required": ["start"]},
    )
    spider: Text | None = Field(
        None,
        pattern=r"^[^\s:]+:[^\s:]+$",
        description="package.module:name, of a module in the operator's SHOAL_SPIDERS.",
    )
    scrapy: ScrapyGiven | None = Field(
        None,
        description="Instead of URLs, rules and a spider. With it, a job has only the options of limits, lane, "
        "priority, name, sinks and webhook.",
    )


LimitsGiven = order_model(
    "LimitsGiven", RequestBody, "Options that end the job early, as a stored job has them.", "limits"
)
PolitenessGiven = order_model(
    "PolitenessGiven", RequestBody, "Options for how the job treats hosts, as a stored job has them.", "politeness"
)
RenderingGiven = order_model(
    "RenderingGiven", RequestBody, "Options for how a browser loads pages, as a stored job has them.", "rendering"
)
WebhookGiven = order_model(
    "WebhookGiven",
    RequestBody,
    "Gets a POST whenever the job's state changes; signed, if there is a secret.",
    "webhook",
    required=("url",),
)
_URL_ALONE = BeforeValidator(
    lambda given: {"url": given} if isinstance(given, str) else given,
    json_schema_input_type=WebhookGiven | WebhookGiven.model_fields["url"].rebuild_annotation() | None,
)
_Options = order_model(
    "_Options",
    _Sources,
    "",
    "",
    webhook=(Annotated[WebhookGiven | None, _URL_ALONE], None),
    limits=(LimitsGiven, LimitsGiven()),
    politeness=(PolitenessGiven, PolitenessGiven()),
    rendering=(RenderingGiven, RenderingGiven()),
)


class JobOrder(_Options):  # type: ignore[misc,valid-type]
    """What to crawl, and the options of the job, by their names on the command line."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["urls"]}, *_KINDS],
            "not": {"anyOf": [*_REFUSED]},
        }
    )

    @property
    def urls_follow(self) -> bool:
        """An empty list says so; one that is missing was forgotten."""
        return "urls" in self.model_fields_set and not self.urls

    def options(self) -> dict[str, Any]:
        """Those that were given, by their names in the table of options."""
        return given_options(self)

    @model_validator(mode="after")
    def _once(self) -> Self:
        check_given_once(self)
        if self.scrapy is not None and ("urls" in self.model_fields_set or self.rules or self.spider):
            raise ValueError("a Scrapy spider has its own start URLs: leave urls, rules and spider out")
        return self


class RemovalQuery(QueryModel):
    confirm: str | None = Field(None, description="The full id of the job, if the path names it otherwise.")


class JobsQuery(QueryModel):
    state: Literal["queued", "running", "paused", "done", "limited", "cancelled", "failed"] | None = Field(
        None, description="As it is stored: a job that waits is queued or running."
    )
    lane: Lane | None = None
    name: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Cursor | None = None
