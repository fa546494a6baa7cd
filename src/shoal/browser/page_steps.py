"""What a page can be asked to do: wait, scroll, click, fill in, submit. Each step has a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from shoal.browser import page_scripts
from shoal.browser.main_document import until
from shoal.browser.page_capture import print_pdf, take_screenshot
from shoal.browser.page_failure import PageFailed, StepFailed
from shoal.model.rendering import Step

if TYPE_CHECKING:
    from shoal.browser.page_visit import PageVisit

POLL_S = 0.1
SETTLE_S = 5.0
"""How long to wait for the requests that a click or a scroll causes."""
BEGIN_S = 1.0
"""How soon a submitted form begins to load the next page."""
_FIRST_PART = ("wait", "wait_text")
"""A script shows a first part of what such a step waits for, and then asks for the next."""
_CODES = {"Enter": 13, "Tab": 9, "Escape": 27, "Backspace": 8, "Delete": 46, "Space": 32, "Home": 36, "End": 35}
_CODES |= {"PageUp": 33, "PageDown": 34, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}
_TYPED = {"Enter": "\r", "Space": " "}


class StepProblem(Exception):
    """Why a step did not work; becomes StepFailed."""


async def run_steps(visit: PageVisit, steps: tuple[Step, ...]) -> None:
    """Raises StepFailed."""
    for number, step in enumerate(steps, 1):
        visit.current_step = f"step {number} ({step})"
        try:
            async with asyncio.timeout(step.limit_s):
                await _STEPS[step.name](visit, step)
        except TimeoutError:
            raise StepFailed(
                number, step, f"{_UNMET.get(step.name, 'it did not end')} within {step.limit_s:g} s"
            ) from None
        except StepProblem as problem:
            raise StepFailed(number, step, str(problem)) from None
        finally:
            visit.document.may_navigate = False
        if step.name in _FIRST_PART:
            await _settle(visit)
    visit.current_step = ""


async def _wait(visit: PageVisit, step: Step) -> None:
    await _polled(visit, page_scripts.is_there(str(step.value)))


async def _wait_text(visit: PageVisit, step: Step) -> None:
    await _polled(visit, page_scripts.shows_text(str(step.value)))


async def _wait_idle(visit: PageVisit, step: Step) -> None:
    await visit.network.quiet(min(float(step.value), step.limit_s))


async def _wait_time(_: PageVisit, step: Step) -> None:
    await asyncio.sleep(min(float(step.value), step.limit_s * 0.95))


async def _scroll(visit: PageVisit, step: Step) -> None:
    for _ in range(int(step.value)):
        height = await _evaluated(visit, page_scripts.SCROLL)
        await _settle(visit)
        # Lists grow a moment after their data has arrived.
        if await _evaluated(visit, page_scripts.HEIGHT) == height and not await _grows(visit, height):
            return


async def _grows(visit: PageVisit, height: object) -> bool:
    ends = time.monotonic() + BEGIN_S / 2
    while time.monotonic() < ends:
        await asyncio.sleep(POLL_S)
        if await _evaluated(visit, page_scripts.HEIGHT) != height:
            return True
    return False


async def _click(visit: PageVisit, step: Step) -> None:
    visit.document.may_navigate = True
    if not step.times:
        await _press_mouse(visit, await _visible(visit, str(step.value)))
        await _settle(visit)
    for _ in range(step.times):
        # If there is none from the beginning, the list is short, and complete.
        box = await _evaluated(visit, page_scripts.box_of(str(step.value)))
        if not box:
            return
        await _press_mouse(visit, box)
        await _settle(visit)


async def _visible(visit: PageVisit, css: str) -> list[float]:
    """Waits for the element: the time limit ends it."""
    return list(await _polled(visit, page_scripts.box_of(css)))


async def _press_mouse(visit: PageVisit, box: list[float]) -> None:
    """As a mouse does it: the page gets a trusted event."""
    x, y, width, height = box
    at = {"x": x + width / 2, "y": y + height / 2, "button": "left", "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        await visit.session.call("Input.dispatchMouseEvent", type=kind, **at)


async def _fill(visit: PageVisit, step: Step) -> None:
    await _polled(visit, page_scripts.focus(str(step.value)))
    if step.text:
        await visit.session.call("Input.insertText", text=step.text)
    else:
        await _key(visit, "Delete")


async def _select(visit: PageVisit, step: Step) -> None:
    if await _polled(visit, page_scripts.choose(str(step.value), step.text), _is_found) is None:
        raise StepProblem(f"it has no option {step.text!r:.80}")
    await _settle(visit)


async def _press(visit: PageVisit, step: Step) -> None:
    visit.document.may_navigate = True
    await _key(visit, str(step.value))
    await _settle(visit)


async def _key(visit: PageVisit, key: str) -> None:
    typed = _TYPED.get(key, "")
    pressed = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": _CODES[key]}
    down = {"type": "keyDown", "text": typed} if typed else {"type": "rawKeyDown"}
    await visit.session.call("Input.dispatchKeyEvent", **pressed, **down)
    await visit.session.call("Input.dispatchKeyEvent", type="keyUp", **pressed)


async def _submit(visit: PageVisit, step: Step) -> None:
    visit.document.may_navigate = True
    css, before = str(step.value), visit.document.navigations
    if await _polled(visit, page_scripts.submit(css), _is_found) is None:
        await _press_mouse(visit, await _visible(visit, css))
    try:
        async with asyncio.timeout(BEGIN_S):
            await until(lambda: visit.document.navigations > before)
    except TimeoutError:
        # A script sends the form, and the page stays.
        pass
    await _settle(visit)


async def _settle(visit: PageVisit) -> None:
    """Waits for what an action causes: requests, or another page."""
    await asyncio.sleep(POLL_S / 2)
    if visit.document.is_navigating or not visit.loaded.is_set():
        await until(lambda: not visit.document.is_navigating)
        await visit.loaded.wait()
    await visit.network.quiet(SETTLE_S)


async def _screenshot(visit: PageVisit, step: Step) -> None:
    if step.value is True:
        visit.pictures.append(await take_screenshot(visit))
        return
    box = await _visible(visit, str(step.value))
    visit.pictures.append(await take_screenshot(visit, box))


async def _pdf(visit: PageVisit, _: Step) -> None:
    visit.pictures.append(await print_pdf(visit))


async def _polled(visit: PageVisit, expression: str, is_met: Callable[[Any], bool] = bool) -> Any:
    """The first value that will do. The time limit of the step ends it."""
    while not is_met(value := await _evaluated(visit, expression)):  # noqa: ASYNC110 - the page changes by itself
        await asyncio.sleep(POLL_S)
    return value


def _is_found(value: Any) -> bool:
    """Scripts give false if no element matches."""
    return value is not False


async def _evaluated(visit: PageVisit, expression: str) -> Any:
    try:
        return await visit.evaluate(expression)
    except PageFailed as failed:
        raise StepProblem(str(failed)) from failed


_STEPS: dict[str, Callable[[PageVisit, Step], Awaitable[None]]] = {
    "wait": _wait,
    "wait_text": _wait_text,
    "wait_idle": _wait_idle,
    "wait_time": _wait_time,
    "scroll": _scroll,
    "click": _click,
    "fill": _fill,
    "select": _select,
    "press": _press,
    "submit": _submit,
    "screenshot": _screenshot,
    "pdf": _pdf,
}
_UNMET = {
    **dict.fromkeys(("wait", "fill", "select", "screenshot"), "no element matches"),
    "click": "no visible element matches, or it stays",
    "submit": "no element matches, or the next page did not load",
    "wait_text": "the page does not show it",
    "scroll": "the page still grows",
}
