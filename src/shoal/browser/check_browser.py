"""Checks the browser of this machine for `shoal health --browser`: which one, its version, its sandbox, its network."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from shoal.browser.browser_process import BrowserProcess
from shoal.browser.find_browser import find_browser
from shoal.browser.process_memory import total_memory


@dataclass(frozen=True, slots=True)
class BrowserHealth:
    program: str
    version: str
    sandbox: bool
    """Always true here: a browser whose sandbox does not work does not start."""
    network_closed: bool
    """Whether the kernel keeps the browser from every network. Otherwise only its flags and its proxy do."""


async def check_browser(given: str | None, agent: str) -> BrowserHealth:
    """Starts the browser and ends it. Raises BrowserMissing with the reason if that is impossible."""
    program = find_browser(given)
    process = await BrowserProcess.launch(program, agent, 1, total_memory(), total_memory())
    try:
        # A page needs a process of its own, and that is what the sandbox is for.
        await process.browser.call("Target.createTarget", url="about:blank")
        return BrowserHealth(str(program), process.version, True, not process.has_network)
    finally:
        await asyncio.shield(process.close())
