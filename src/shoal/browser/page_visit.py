"""One visit to a page, from an empty tab to its HTML.

Whatever the page does is bounded here: dialogs, frames, console messages, attempts to leave, events. `dead` tells that
it went too far, or crashed. The caller bounds its time, and disposes of the tab.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from shoal.browser import page_scripts
from shoal.browser.asset_cache import AssetCache
from shoal.browser.asset_requests import AssetRequests
from shoal.browser.browser_process import BrowserProcess
from shoal.browser.devtools import DevToolsError
from shoal.browser.main_document import MOST_LEAVES, MainDocument
from shoal.browser.network_log import NetworkLog
from shoal.browser.page_capture import capture_html
from shoal.browser.page_failure import PageCrashed, PageFailed
from shoal.browser.page_steps import run_steps
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.decode_body import most_unpacked_bytes
from shoal.fetch.exchange import FailureKind
from shoal.fetch.rendered_page import Picture
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model.rendering import Rendering
from shoal.urls import origin_of

QUIET_CAP_S = 5.0
"""How long to wait until a page requests nothing more."""
MOST_EVENTS = 20_000
MOST_CONSOLE = 100
QUIET_MESSAGES = 500
"""After so many console messages the browser is told to report no more."""
MOST_MESSAGES = 2_000
"""A script that never pauses does not let the browser obey."""
MOST_DIALOGS = 20
MOST_FRAMES = 200
_BUFFER_BYTES = 20_000_000
_WAITS = ("wait", "wait_text", "wait_idle", "wait_time")
_NO_BRANDS = {
    "brands": [],
    "fullVersionList": [],
    **dict.fromkeys(("platform", "platformVersion", "architecture", "model"), ""),
}
Params = dict[str, Any]


class PageVisit:
    def __init__(
        self, process: BrowserProcess, call: Fetch, rendering: Rendering, agent: str, assets: AssetCache
    ) -> None:
        self.process = process
        self.call = call
        self.rendering = rendering
        self._agent = agent
        self._assets = assets
        self.dead: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.loaded = asyncio.Event()
        self.pictures: list[Picture] = []
        self.console_errors: list[str] = []
        self.timings: dict[str, float] = {}
        self.html = b""
        self.url = call.url
        self.current_step = ""
        self.is_committed = False
        self.is_done = False
        """Its HTML was taken, or it has none."""
        self.is_unfinished = False
        """Its time ended before it was done."""
        self.insecure = False
        self.rules: SubresourceRules | None = None
        self._counts: Counter[str] = Counter()
        self._world: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, context: str) -> None:
        """Makes the tab and prepares it. Nothing is requested yet."""
        viewport = self.rendering.viewport
        size = {"width": viewport.width, "height": viewport.height}
        made = await self.process.browser.call(
            "Target.createTarget", url="about:blank", browserContextId=context, **size
        )
        self.target = made["targetId"]
        attached = await self.process.browser.call("Target.attachToTarget", targetId=self.target, flatten=True)
        self.session = self.process.devtools.attach(attached["sessionId"], self._on_event)
        self.network = NetworkLog(self.session)
        self.document = MainDocument(self.session, self.call)
        self.requests = AssetRequests(self.session, self.network, self._assets, self.rendering, self.rules)
        self._handlers = self.network.handlers | self._own_handlers()
        await asyncio.gather(*self._preparations())

    async def load(self) -> str:
        """Loads the document. Returns the browser's error if it is not shown."""
        answer = await self.session.call("Page.navigate", url=self.call.url)
        return str(answer.get("errorText", ""))

    async def work(self) -> None:
        """Waits for the page, runs its steps, and takes what it has become. Raises PageFailed."""
        await self.loaded.wait()
        steps = self.rendering.steps
        if not steps or steps[0].name not in _WAITS:
            await self.network.quiet(QUIET_CAP_S)
        await run_steps(self, steps)
        await self.network.collect_calls()
        await self.capture()
        self.timings = await self.evaluate(page_scripts.TIMINGS) or {}

    async def capture(self) -> None:
        self.html = await capture_html(self, most_unpacked_bytes(self.call))

    async def salvage(self) -> None:
        """Stops a script that runs for ever, and takes what is there."""
        await self.session.call("Runtime.terminateExecution")
        self._world = None
        await self.capture()

    async def evaluate(self, expression: str) -> Any:
        """In a world of our own: pages can redefine what is in theirs. Raises PageFailed if the expression fails."""
        for is_last in (False, True):
            try:
                answer = await self._evaluate(expression)
                break
            except DevToolsError:
                # Another document may have come in between.
                self._world = None
                if is_last:
                    raise
        if "exceptionDetails" in answer:
            said = answer["exceptionDetails"].get("exception", {}).get("description", "the script failed")
            raise PageFailed(FailureKind.RENDER, said.splitlines()[0][:300])
        return answer["result"].get("value")

    def close(self) -> None:
        if hasattr(self, "session"):
            if not self.is_done:
                # It works even if a script never pauses, and what it still does would delay its neighbours.
                self.session.tell("Page.crash")
            self.process.devtools.detach(self.session)
            self.network.close()
        for task in self._tasks:
            task.cancel()

    def die(self, failed: PageFailed) -> None:
        if not self.dead.done():
            self.dead.set_exception(failed)
            self.dead.exception()
            self.process.devtools.detach(self.session)

    def _preparations(self) -> list[asyncio.Future[Params]]:
        call, rendering = self.session.call, self.rendering
        viewport = rendering.viewport
        agent = next((text for name, text in self.call.headers.items() if name.lower() == "user-agent"), self._agent)
        accepts = next((text for name, text in self.call.headers.items() if name.lower() == "accept-language"), "")
        calls = [
            call("Page.enable"),
            call("Network.enable", maxTotalBufferSize=_BUFFER_BYTES, maxResourceBufferSize=_BUFFER_BYTES),
            call("Network.setBypassServiceWorker", bypass=True),
            call("Runtime.enable"),
            call("Fetch.enable", patterns=self.requests.patterns(), handleAuthRequests=bool(self.call.credentials)),
            call("Page.addScriptToEvaluateOnNewDocument", source=page_scripts.NO_WORKERS),
            call(
                "Emulation.setDeviceMetricsOverride",
                width=viewport.width,
                height=viewport.height,
                deviceScaleFactor=1,
                mobile=viewport.is_mobile,
            ),
            call(
                "Emulation.setUserAgentOverride",
                userAgent=agent,
                acceptLanguage=accepts or rendering.locale,
                userAgentMetadata={**_NO_BRANDS, "mobile": viewport.is_mobile},
            ),
        ]
        if viewport.is_mobile:
            calls.append(call("Emulation.setTouchEmulationEnabled", enabled=True))
        if rendering.locale:
            calls.append(call("Emulation.setLocaleOverride", locale=rendering.locale))
        if rendering.time_zone:
            calls.append(call("Emulation.setTimezoneOverride", timezoneId=rendering.time_zone))
        if self.insecure:
            calls.append(call("Security.setIgnoreCertificateErrors", ignore=True))
        return calls

    async def _evaluate(self, expression: str) -> Params:
        if self._world is None:
            made = await self.session.call("Page.createIsolatedWorld", frameId=self.target, worldName="shoal")
            self._world = made["executionContextId"]
        return await self.session.call(
            "Runtime.evaluate", expression=expression, contextId=self._world, returnByValue=True, awaitPromise=True
        )

    # Events of the page.

    def _own_handlers(self) -> dict[str, Callable[[Params], None]]:
        return {
            "Fetch.requestPaused": self._paused,
            "Fetch.authRequired": self._auth_required,
            "Inspector.targetCrashed": self._crashed,
            "Page.loadEventFired": self._on_load,
            "Page.frameAttached": self._frame_attached,
            "Page.frameNavigated": self._frame_navigated,
            "Page.navigatedWithinDocument": self._moved,
            "Page.javascriptDialogOpening": self._dialog,
            "Runtime.consoleAPICalled": self._console,
            "Runtime.exceptionThrown": self._thrown,
        }

    def _on_event(self, method: str, params: Params) -> None:
        self._limit("events", MOST_EVENTS)
        handler = self._handlers.get(method)
        if handler is not None and not self.dead.done():
            handler(params)

    def _limit(self, what: str, most: int) -> None:
        self._counts[what] += 1
        if self._counts[what] > most:
            self.die(PageFailed(FailureKind.RENDER, f"the page caused more than {most:,} {what}"))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._bounded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bounded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PageFailed as failed:
            self.die(failed)
        except DevToolsError:
            # The page no longer waits for it.
            pass

    def _paused(self, params: Params) -> None:
        is_main = params["frameId"] == self.target and params["resourceType"] == "Document"
        is_answer = "responseStatusCode" in params or "responseErrorReason" in params
        if is_main and is_answer:
            self._begin(self.document.answered(params))
        elif is_main:
            if self.document.requested(params):
                self.loaded.clear()
            else:
                self.network.uncount(params["request"]["url"])
                # A page whose way out is barred may never report its load.
                self.loaded.set()
                if self.document.leaves > MOST_LEAVES:
                    self.die(PageFailed(FailureKind.RENDER, f"the page tried to leave more than {MOST_LEAVES} times"))
        elif is_answer:
            self._begin(self.requests.answered(params))
        elif self.requests.needs_permission(params):
            self._begin(self.requests.requested_with_permission(params))
        else:
            self.requests.requested(params)

    def _auth_required(self, params: Params) -> None:
        user, _, password = self.call.credentials.partition(":")
        self._counts["auth"] += 1
        is_ours = params["authChallenge"]["origin"].rstrip("/") == origin_of(self.call.url)
        answer = {"response": "CancelAuth"}
        if is_ours and self._counts["auth"] <= 2:
            answer = {"response": "ProvideCredentials", "username": user, "password": password}
        self.session.tell("Fetch.continueWithAuth", requestId=params["requestId"], authChallengeResponse=answer)

    def _crashed(self, _: Params) -> None:
        self.die(PageCrashed())

    def _on_load(self, _: Params) -> None:
        self.loaded.set()

    def _frame_attached(self, _: Params) -> None:
        self._limit("frames", MOST_FRAMES)

    def _frame_navigated(self, params: Params) -> None:
        frame = params["frame"]
        if "parentId" not in frame and frame["url"] != "about:blank":
            self.is_committed, self._world = True, None
            self.url = frame["url"] + frame.get("urlFragment", "")

    def _moved(self, params: Params) -> None:
        if params["frameId"] == self.target:
            self.url = params["url"]

    def _dialog(self, params: Params) -> None:
        self._limit("dialogs", MOST_DIALOGS)
        self.session.tell("Page.handleJavaScriptDialog", accept=params["type"] == "beforeunload")

    def _console(self, params: Params) -> None:
        self._count_message()
        if params["type"] in ("error", "assert"):
            words = (str(part.get("value", part.get("description", part["type"]))) for part in params["args"])
            self._add_error(" ".join(words))

    def _thrown(self, params: Params) -> None:
        self._count_message()
        details = params["exceptionDetails"]
        self._add_error(str(details.get("exception", {}).get("description", details["text"])))

    def _count_message(self) -> None:
        self._limit("console messages", MOST_MESSAGES)
        if self._counts["console messages"] == QUIET_MESSAGES:
            self.session.tell("Runtime.disable")

    def _add_error(self, text: str) -> None:
        if len(self.console_errors) < MOST_CONSOLE:
            self.console_errors.append(text[:500])
