"""A real Chromium with tabs that a test drives as a person does: it opens pages, clicks, types and looks.

A tab writes down everything that must not happen: errors in the console, exceptions, violations of the page's policy.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from shoal.browser.browser_process import BrowserProcess
from shoal.browser.devtools import DevToolsError, Session

T = TypeVar("T")
WITHIN_S = 60.0
"""Far more than it takes: a busy machine is no reason to fail."""
LOOK_EVERY_S = 0.1
MEMORY_BYTES = 2_000_000_000
WIDE, NARROW = 1280, 390
_HEIGHT = 900


class Tab:
    """Has its own cookies. `problems` are the errors so far; `dialogs` are answered with yes."""

    def __init__(self, chromium: Chromium, width: int) -> None:
        self._chromium = chromium
        self.width = width
        self.problems: list[str] = []
        self.dialogs: list[str] = []
        self._context = ""
        self._session: Session = chromium.run(self._open_tab())

    async def _open_tab(self) -> Session:
        browser = self._chromium.process.browser
        made = await browser.call("Target.createBrowserContext", proxyServer="direct://", disposeOnDetach=True)
        context = self._context = made["browserContextId"]
        target = (await browser.call("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        found = await browser.call("Target.attachToTarget", targetId=target, flatten=True)
        session = self._chromium.process.devtools.attach(found["sessionId"], self._hear)
        for domain in ("Page", "Runtime", "Log", "DOM"):
            await session.call(f"{domain}.enable")
        # Keys reach a page only while it has the focus, and tabs of other tests may be open.
        await session.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await session.call("Page.bringToFront")
        await session.call(
            "Emulation.setDeviceMetricsOverride", width=self.width, height=_HEIGHT, deviceScaleFactor=1, mobile=False
        )
        return session

    def close(self) -> None:
        async def dispose() -> None:
            await self._chromium.process.browser.call("Target.disposeBrowserContext", browserContextId=self._context)

        self._chromium.run(dispose())

    def _hear(self, event: str, about: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{about['entry']['source']}: {about['entry']['text']}")
        elif event == "Page.javascriptDialogOpening":
            self.dialogs.append(about["message"])
            self._session.tell("Page.handleJavaScriptDialog", accept=True)

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        async def ask() -> dict[str, Any]:
            return await self._session.call(method, **params)

        return self._chromium.run(ask())

    def _input(self, method: str, **params: Any) -> None:
        """A click or key may lead to another page before the browser answers."""
        with suppress(DevToolsError):
            self.call(f"Input.{method}", **params)

    def js(self, expression: str) -> Any:
        """The value, as JSON has it; waits for a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str, within_s: float = WITHIN_S) -> Any:
        """The first true value. Also over a navigation."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            # An answer that a navigation cut off is asked for again.
            with suppress(DevToolsError):
                found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
                if "exceptionDetails" not in found and (value := found["result"].get("value")):
                    return value
            time.sleep(LOOK_EVERY_S)
        raise AssertionError(f"not within {within_s} s: {expression}\n{self.text}\n{self.problems}")

    def until_text(self, text: str, within_s: float = WITHIN_S) -> None:
        self.until(f"document.body.innerText.includes({json.dumps(text)})", within_s)

    @property
    def text(self) -> str:
        return str(self.js("document.body ? document.body.innerText : ''"))

    @property
    def path(self) -> str:
        return str(self.js("location.pathname + location.search"))

    def open(self, url: str) -> None:
        self.js("window.isLeft = true")
        self.call("Page.navigate", url=url)
        self._until_another_page()

    def _until_another_page(self) -> None:
        self.until("!window.isLeft && document.readyState === 'complete'")

    def click(self, selector: str, nth: int = 0) -> None:
        """With the mouse, where the element is (a link over two lines: its first). Fails if something covers it."""
        place = self.js(
            f"""(() => {{ const node = document.querySelectorAll({json.dumps(selector)})[{nth}];
            node.scrollIntoView({{block: "center"}}); const [box] = node.getClientRects();
            const at = [box.x + box.width / 2, box.y + box.height / 2], top = document.elementFromPoint(...at);
            return node.contains(top) ? at : null; }})()"""
        )
        assert place, f"{selector} cannot be clicked"
        for kind in ("mousePressed", "mouseReleased"):
            self._input("dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def follow(self, selector: str, nth: int = 0) -> None:
        """Clicks what leads to another page, and waits for it."""
        self.js("window.isLeft = true")
        self.click(selector, nth)
        self._until_another_page()

    def type(self, selector: str, text: str) -> None:
        self.js(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: str = "", modifiers: int = 0) -> None:
        about = {"key": key, "code": code or key, "modifiers": modifiers}
        named = {"Tab": 9, "Enter": 13, "Escape": 27}
        if key in named:
            about |= {"windowsVirtualKeyCode": named[key], **({"text": "\r"} if key == "Enter" else {})}
        elif len(key) == 1:
            about["text"] = key
        for kind in ("keyDown", "keyUp"):
            self._input("dispatchKeyEvent", type=kind, **about)

    def hurry(self, times: int) -> None:
        """Timers of the pages that are opened from now on go faster, so that a test need not wait for a refresh."""
        script = f"const wait = setTimeout; window.setTimeout = (act, ms) => wait(act, ms / {times})"
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def theme(self, name: str) -> None:
        """`light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def resize(self, width: int) -> None:
        self.width = width
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=_HEIGHT, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path, height: int | None = None) -> None:
        """The whole page, or its upper part."""
        whole = height or min(4000, int(self.js("document.documentElement.scrollHeight")))
        clip = {"x": 0, "y": 0, "width": self.width, "height": whole, "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.js("document.documentElement.scrollWidth - window.innerWidth"))


class Chromium:
    """Runs in a thread of its own, so that tests need not be asynchronous."""

    def __init__(self, program: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.process = self.run(BrowserProcess.launch(Path(program), "shoal-test/1", 0, MEMORY_BYTES, 2 * MEMORY_BYTES))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * WITHIN_S)

    def tab(self, width: int = WIDE) -> Tab:
        return Tab(self, width)

    def close(self) -> None:
        self.run(self.process.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def chromium(program: str) -> Iterator[Chromium]:
    browser = Chromium(program)
    try:
        yield browser
    finally:
        browser.close()
