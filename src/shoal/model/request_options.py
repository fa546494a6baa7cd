"""How to fetch one request: its own headers and cookies, wanted statuses, a callback for failures, a time limit, the
session and region that it belongs to.

Nearly every request has none of it, and its trail then has None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.model.rendering import Render, Rendering, Step

OPEN_HEADERS = frozenset({"accept", "accept-language", "user-agent", "from", "dnt", "cache-control", "pragma"})
"""Headers that carry no secret. All others are sent only to the origin that they were meant for."""
HIDDEN = "***"

Pairs = tuple[tuple[str, str], ...]


class RequestOptions(NamedTuple):
    """Hashable, so that requests with the same options travel together."""

    headers: Pairs = ()
    cookies: Pairs = ()
    errors: str | None = None
    """The callback that gets a failure, or an answer outside 2xx, in place of a dead letter."""
    statuses: tuple[int, ...] = ()
    """Statuses besides 2xx that the callback gets."""
    timeout_s: float | None = None
    render: Render | None = None
    """Whether a browser loads the page; None: as the job has it."""
    steps: tuple[Step, ...] = ()
    """What the browser does on the page, in place of the job's steps."""
    session: str | None = None
    """Requests of one session share cookies and a proxy. None: that of the page, until `inherited` has filled it in."""
    region: str | None = None
    """Only proxies of this region carry it. None likewise."""
    playwright: bool = False
    """The callback gets the page in Playwright."""

    def __repr__(self) -> str:
        headers = tuple((name, value if name.lower() in OPEN_HEADERS else HIDDEN) for name, value in self.headers)
        cookies = tuple((name, HIDDEN) for name, _ in self.cookies)
        steps = tuple(map(str, self.steps))
        shown = {**self._asdict(), "headers": headers, "cookies": cookies, "steps": steps}
        return f"RequestOptions({', '.join(f'{name}={value!r}' for name, value in shown.items() if value)})"

    @property
    def open_headers(self) -> Pairs:
        return tuple(pair for pair in self.headers if pair[0].lower() in OPEN_HEADERS)

    def for_another_origin(self) -> RequestOptions:
        """Without secrets, for the target of a redirect."""
        steps = Rendering(self.steps).for_another_origin().steps
        return self._replace(headers=self.open_headers, cookies=(), steps=steps)

    @property
    def identity(self) -> str:
        """What tells requests apart that go to the same URL: the session and the region."""
        return f"{self.session or ''} {self.region or ''}" if self.session or self.region else ""

    def to_fields(self) -> dict[str, Any]:
        """For JSON, without what is not set."""
        return {name: value for name, value in self._asdict().items() if value}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> RequestOptions:
        """Reads what `to_fields` gave to JSON. Raises ValueError for anything else."""
        try:
            return cls(
                tuple((str(name), str(value)) for name, value in fields.get("headers", ())),
                tuple((str(name), str(value)) for name, value in fields.get("cookies", ())),
                fields.get("errors"),
                tuple(map(int, fields.get("statuses", ()))),
                fields.get("timeout_s"),
                Render(fields["render"]) if "render" in fields else None,
                tuple(Step(*step) for step in fields.get("steps", ())),
                fields.get("session"),
                fields.get("region"),
                bool(fields.get("playwright", False)),
            )
        except (TypeError, AttributeError) as error:
            raise ValueError("a damaged record of a request's options") from error


def inherited(own: RequestOptions | None, page: RequestOptions | None, same_origin: bool) -> RequestOptions | None:
    """The options of a request that a page yields: it stays in the session and region of the page unless it names
    others, and in a session it keeps the headers too. `page` are the options of the request for the page."""
    if page is None or not page.identity:
        return own
    options = own or RequestOptions()
    session = page.session if options.session is None else options.session
    region = page.region if options.region is None else options.region
    headers = options.headers
    if session and session == page.session:
        given = {name.lower() for name, _ in headers}
        kept = page.headers if same_origin else page.open_headers
        headers = (*(pair for pair in kept if pair[0].lower() not in given), *headers)
    found = options._replace(headers=headers, session=session, region=region)
    return None if found == RequestOptions(session="", region="") else found


def identity_of(options: RequestOptions | None) -> str:
    return "" if options is None else options.identity
