"""Fetches a page with the browser of this process, which may turn out not to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.engine.active_job import ActiveJob
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FetchAborted
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model import Lease
from shoal.model.rendering import Render

if TYPE_CHECKING:
    from shoal.browser.browser_fetcher import BrowserFetcher


async def fetch_in_browser(
    browser: BrowserFetcher, call: Fetch, rules: SubresourceRules | None, lease: Lease, active_job: ActiveJob
) -> Exchange | Failure:
    """Raises FetchAborted if the page is to be fetched again: in a browser, or without one if none starts and the job
    leaves it to Shoal. Raises BrowserMissing if it wants a browser."""
    # Imported here only: few jobs need a browser.
    from shoal.browser.find_browser import BrowserMissing

    try:
        return await browser.fetch(call, rules)
    except BrowserMissing as missing:
        if active_job.render_mode(lease) is not Render.AUTO:
            raise
        active_job.auto_render.give_up(str(missing))
        raise FetchAborted("the page is fetched without a browser") from missing
