from __future__ import annotations

import pytest

from shoal.model.content_change import CONTENT, MARKUP, NO, change_kind


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("A lamp", "A\n  lamp "),
        ("Generated 2026-11-18 06:55:12 UTC in 0.032 seconds.", "Generated 2026-11-19 16:05:00 UTC in 1.5 seconds."),
        ("Wed Nov 18 06:55:12 2026 A lamp", "Thu Nov 19 07:00:01 2026 A lamp"),
        ("at 2026-11-18T06:55:12Z", "at 2027-01-02T03:04:05.678Z"),
        ("18 November 2026, 6:55 pm", "2 December 2026, 11:05 am"),
        ("token 3f9a1c77be0042aa91c3d8 end", "token 00aa1c77be0042aa91c3ff end"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174000"),
        ("(took 0.12s)", "(took 0.15s)"),
    ],
)
def test_space_tokens_and_time_stamps_are_no_content(before: str, now: str) -> None:
    assert change_kind(True, before, now) == MARKUP


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("A lamp", "A lamp and a table"),
        ("Price: 12.50 EUR", "Price: 13.50 EUR"),
        ("On 18 November 2026", "On 19 November 2026"),
        ("a-long-slug-of-an-article-about-lamps", "a-long-slug-of-an-article-about-tables"),
        ("3:2 for Leeds", "3:1 for Leeds"),
        (None, "A lamp"),
    ],
)
def test_words_and_numbers_are_content(before: str | None, now: str) -> None:
    assert change_kind(True, before, now) == CONTENT


def test_a_page_with_the_same_digest_has_not_changed() -> None:
    assert change_kind(False, None, None) == NO
