"""One page now."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.control.models.given import Body, SomeUrl, Told
from shoal.model import JobState

Format = Literal["html", "text", "markdown", "links", "metadata"]


class ScrapeOrder(Body):
    """Which page, and what of it; with rules its items too."""

    url: SomeUrl
    formats: Annotated[tuple[Format, ...], Field(fail_fast=True)] | None = Field(
        None, description="Default: `text`; with rules none."
    )
    rules: dict[str, Any] | None = Field(None, description="As of a job; they begin at the url.")
    timeout_s: Annotated[float, Field(ge=0.01, le=120)] = 30.0


class Scraped(Told):
    """How the page ended, and what was asked of it."""

    id: str
    url: str
    final_url: str | None
    status: int | None = Field(description="What the server answered, if it did.")
    outcome: str = Field(description="`page`; otherwise how else it ended, and `reason` says why.")
    reason: str | None
    content_type: str | None
    title: str | None
    html: str | None
    text: str | None
    markdown: str | None
    links: list[str] | None
    metadata: dict[str, Any] | None
    items: list[dict[str, Any]] | None = Field(description="With rules: the first thousand.")
    missing: dict[str, str] = Field(description="What was asked for and is not there: why.")


class StillScraping(Told):
    """It takes longer: ask for the job."""

    id: str
    state: JobState
    limiting: str | None
