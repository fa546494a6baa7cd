"""The body of a call that fetches one page now."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shoal.control.models.jobs import RenderingGiven
from shoal.control.models.strict_models import RequestBody, SomeUrl
from shoal.model import Render
from shoal.model.options import OPTIONS, from_fields

Format = Literal["html", "text", "markdown", "page_markdown", "links", "metadata"]


class ScrapeOrder(RequestBody):
    """The page to fetch and the formats to return; with rules also its items."""

    url: SomeUrl
    formats: Annotated[tuple[Format, ...], Field(fail_fast=True)] | None = Field(
        None, description="Default: `text`; with rules, none."
    )
    rules: dict[str, Any] | None = Field(None, description="Rules as in a job; they start at the url.")
    render: Render | None = Field(None, description=OPTIONS["render"].help)
    rendering: RenderingGiven = Field(  # type: ignore[valid-type]
        RenderingGiven(), description="What the browser does on the page, as in a job."
    )
    timeout_s: Annotated[float, Field(ge=0.01, le=120)] = 30.0

    def rendering_options(self) -> dict[str, Any]:
        """Those that were given, by their names in the table of options."""
        return from_fields({"render": self.render, "rendering": self.rendering.model_dump()})  # type: ignore[attr-defined]
