"""Why a page could not be rendered."""

from __future__ import annotations

from shoal.fetch.exchange import FailureKind


class PageFailed(Exception):
    """Becomes a Failure of this kind."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class PageCrashed(PageFailed):
    """Its process ended. A browser ends some that did nothing wrong, so the page is loaded again."""

    def __init__(self) -> None:
        super().__init__(FailureKind.RENDER, "the page crashed its process, or took more memory than a page may")


class StepFailed(PageFailed):
    """A step of the page that did not work. It is named."""

    def __init__(self, number: int, step: object, why: str) -> None:
        super().__init__(FailureKind.STEP, f"step {number} ({step}) failed: {why}")
