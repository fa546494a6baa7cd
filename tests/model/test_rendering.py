from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.model.rendering import Step, Viewport, step_of, step_of_text, steps_of, viewport_of


def test_steps_are_read_with_their_limits() -> None:
    assert steps_of(
        [
            {"wait": ".a", "timeout": 3},
            {"click": ".more", "until_gone": True},
            {"fill": "#u", "value": "x"},
            {"scroll": 5},
        ]
    ) == (
        Step("wait", ".a", limit_s=3.0),
        Step("click", ".more", times=100, limit_s=60.0),
        Step("fill", "#u", "x"),
        Step("scroll", 5, limit_s=60.0),
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("wait", "give CSS"),
        (7, "give a mapping"),
        ({}, "names no steps"),
        ({"wiat": ".a"}, "did you mean wait"),
        ({"wait": ".a", "click": ".b"}, "names 2 steps"),
        ({"wait": ""}, "give CSS"),
        ({"wait": ".a", "value": "x"}, "has no key 'value'"),
        ({"fill": "#p"}, "needs `value`"),
        ({"press": "enter"}, "did you mean Enter"),
        ({"wait_time": 1000}, "at most 300"),
        ({"scroll": 0}, "from 1 to 1000"),
        ({"wait": ".a", "timeout": float("nan")}, "give seconds"),
        ({"pdf": "x"}, "give true"),
    ],
)
def test_a_faulty_step_is_refused_with_what_to_give(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match="step 1") as raised:
        steps_of([given])
    assert words in str(raised.value)


def test_a_password_is_never_shown() -> None:
    assert "hunter2" not in str(step_of({"fill": "#p", "value": "hunter2"}))


def test_steps_can_be_typed() -> None:
    assert step_of_text("scroll") == {"scroll": True}
    assert step_of_text("wait: .a:hover") == {"wait": ".a:hover"}
    assert step_of_text("wait_time:2") == {"wait_time": 2.0}
    assert step_of_text('{"fill": "#u", "value": "x"}') == {"fill": "#u", "value": "x"}
    with pytest.raises(UsageError, match="give a number"):
        step_of_text("scroll:much")


def test_a_viewport_is_a_size_or_a_phone() -> None:
    assert viewport_of("800x600") == Viewport(800, 600)
    assert viewport_of("mobile").is_mobile and viewport_of(None) == Viewport()
    with pytest.raises(UsageError, match="1280x800"):
        viewport_of("big")
