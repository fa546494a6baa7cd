"""How a browser loads a page: what it does there step by step, and what it brings back besides the page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from shoal.errors import UsageError
from shoal.wording import did_you_mean

STEP_LIMIT_S = 10.0
"""How long a step may take if it does not say."""
REPEATED_LIMIT_S = 60.0
"""The same for steps that repeat something: `scroll`, and `click` with `until_gone`."""
MOST_STEP_S = 300.0
MOST_STEPS = 50
MOST_TIMES = 1_000
MOST_CHARS = 4_000
MOBILE = "mobile"
_SIZE = re.compile(r"([1-9][0-9]{1,3})x([1-9][0-9]{1,3})")
_CSS, _TEXT, _SECONDS, _TIMES, _KEY, _SHOT, _TRUE = "CSS", "text", "seconds", "times", "key", "CSS or true", "true"


class StepForm(NamedTuple):
    value: str
    """What the step is about."""
    more: tuple[str, ...] = ()
    """Its other keys, besides `timeout`."""
    help: str = ""


STEPS: Mapping[str, StepForm] = {
    "wait": StepForm(_CSS, (), "Wait until an element matches."),
    "wait_text": StepForm(_TEXT, (), "Wait until the page shows this text."),
    "wait_idle": StepForm(_SECONDS, (), "Wait until the page requests nothing more, at most this long."),
    "wait_time": StepForm(_SECONDS, (), "Wait this long."),
    "scroll": StepForm(_TIMES, (), "Scroll to the end until the page no longer grows, at most so many times."),
    "click": StepForm(_CSS, ("until_gone",), "Click an element; with `until_gone`, until none matches."),
    "fill": StepForm(_CSS, ("value",), "Type `value` into a field, in place of what it has."),
    "select": StepForm(_CSS, ("value",), "Choose the option with this value or label."),
    "press": StepForm(_KEY, (), "Press a key, such as Enter."),
    "submit": StepForm(_CSS, (), "Click an element that leads to another page of the site, and wait for that page."),
    "screenshot": StepForm(_SHOT, (), "Take a picture of the page, or of an element."),
    "pdf": StepForm(_TRUE, (), "Print the page to PDF."),
}
"""What a page can be asked to do, by name."""
ACTS = frozenset({"click", "fill", "select", "press", "submit"})
"""Steps that may change something on the site."""
KEYS = (
    *("Enter", "Tab", "Escape", "Backspace", "Delete", "Space", "Home", "End", "PageUp", "PageDown"),
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
)
_TIMES_BY_DEFAULT = {"scroll": 50, "until_gone": 100}


class Step(NamedTuple):
    name: str
    value: str | float
    text: str = ""
    """What to fill in or select."""
    times: int = 0
    """How often to click at most; 0: once."""
    limit_s: float = STEP_LIMIT_S

    def __str__(self) -> str:
        """For messages. What is filled in may be secret."""
        return self.name if self.value is True else f"{self.name} {self.value}"


class Viewport(NamedTuple):
    width: int = 1280
    height: int = 800
    is_mobile: bool = False


class Render(StrEnum):
    """Which pages a browser loads."""

    NEVER = "never"
    AUTO = "auto"
    """Those that a plain fetch shows as an empty shell, or without what a spider looks for."""
    ALWAYS = "always"


class Rendering(NamedTuple):
    """Hashable, so that requests which are rendered alike travel together."""

    steps: tuple[Step, ...] = ()
    viewport: Viewport = Viewport()
    locale: str = ""
    time_zone: str = ""
    block: tuple[str, ...] = ()
    """Patterns of URLs that the page does not get."""
    load_images: bool = False
    """Also images, fonts and media."""
    robots_strict: bool = False
    """robots.txt also holds for what scripts of the page call, and for its frames."""
    playwright: bool = False
    """The callback gets the page in Playwright."""

    def for_another_origin(self) -> Rendering:
        """Without any step if one of them types a text, which may be secret."""
        return self._replace(steps=()) if any(step.text for step in self.steps) else self


def step_of(given: Any) -> Step:
    """Reads `{click: .more, until_gone: 20, timeout: 30}`. Raises UsageError."""
    if not isinstance(given, Mapping):
        raise UsageError(f"a step is {_shown(given)}; give a mapping such as {{wait: .item}}")
    names = [name for name in given if name in STEPS]
    if len(names) != 1:
        wrong = next((str(name) for name in given if name not in STEPS), "")
        known = f"{did_you_mean(wrong, STEPS)}; there are {', '.join(STEPS)}"
        raise UsageError(f"a step is {_shown(dict(given))}, which names {len(names) or 'no'} steps{known}")
    name, form = names[0], STEPS[names[0]]
    for key in given.keys() - {name, "timeout", *form.more}:
        takes = ", ".join((*form.more, "timeout"))
        raise UsageError(f"the step {name} has no key {_shown(key)}; besides {name} it takes {takes}")
    usual_s = REPEATED_LIMIT_S if name == "scroll" or "until_gone" in given else STEP_LIMIT_S
    return Step(
        name,
        _value(name, form, given[name]),
        _text_of(name, given) if "value" in form.more else "",
        _times("until_gone", given["until_gone"]) if "until_gone" in given else 0,
        _seconds(f"timeout of the step {name}", given.get("timeout", usual_s)),
    )


def steps_of(given: Iterable[Any]) -> tuple[Step, ...]:
    """Takes mappings, and steps as people type them. Raises UsageError that names the number of the step."""
    steps = []
    for number, each in enumerate(given, 1):
        try:
            steps.append(step_of(step_of_text(each) if isinstance(each, str) else each))
        except UsageError as error:
            raise UsageError(f"step {number}: {error}") from None
    if len(steps) > MOST_STEPS:
        raise UsageError(f"there are {len(steps)} steps; give at most {MOST_STEPS}")
    return tuple(steps)


def step_of_text(text: str) -> dict[str, Any]:
    """A step as people type it: JSON, `scroll`, or `wait:.item`. Raises UsageError."""
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except ValueError as error:
            raise UsageError(f"the step {text!r:.80} is not JSON: {error}") from None
        return dict(given)
    name, colon, value = text.partition(":")
    if not colon:
        return {name.strip(): True}
    form = STEPS.get(name.strip())
    is_number = form is not None and form.value in (_SECONDS, _TIMES)
    try:
        return {name.strip(): float(value) if is_number else value.strip()}
    except ValueError:
        raise UsageError(f"the step {name.strip()} has {value.strip()!r}; give a number") from None


def step_text(given: str | Mapping[str, Any]) -> str:
    """A step as text, to travel with a job."""
    return given if isinstance(given, str) else json.dumps(dict(given))


def viewport_of(text: str | None) -> Viewport:
    """`1280x800` or `mobile`. Raises UsageError."""
    if text is None:
        return Viewport()
    if text == MOBILE:
        return Viewport(412, 915, True)
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(f"viewport is {text!r}; give WIDTHxHEIGHT, such as 1280x800, or {MOBILE}")
    return Viewport(int(found[1]), int(found[2]))


def _value(name: str, form: StepForm, value: Any) -> str | float:
    if form.value == _SECONDS:
        return STEP_LIMIT_S if value is True else _seconds(name, value)
    if form.value == _TIMES:
        return _times(name, value)
    if value is True and form.value in (_SHOT, _TRUE):
        return True
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_CHARS or form.value == _TRUE:
        raise UsageError(f"the step {name} has {_shown(value)}; give {form.value}")
    if form.value == _KEY and value not in KEYS:
        raise UsageError(f"the step press has {_shown(value)}{did_you_mean(value, KEYS)}; give {', '.join(KEYS)}")
    return value


def _text_of(name: str, given: Mapping[str, Any]) -> str:
    text = given.get("value")
    if not isinstance(text, str) or len(text) > MOST_CHARS:
        # Not shown: it may be a password.
        raise UsageError(f"the step {name} needs `value`: a text of at most {MOST_CHARS:,} characters")
    return text


def _times(name: str, value: Any) -> int:
    if value is True:
        return _TIMES_BY_DEFAULT[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MOST_TIMES:
        raise UsageError(f"{name} is {_shown(value)}; give true, or a number from 1 to {MOST_TIMES}")
    return int(value)


def _seconds(name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not 0 < value <= MOST_STEP_S:
        raise UsageError(f"{name} is {_shown(value)}; give seconds, at most {MOST_STEP_S:g}")
    return float(value)


def _shown(value: Any) -> str:
    return f"{value!r:.80}"
