from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.object_store.object_url import ObjectUrl, is_bucket_url, masked


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("s3://books/2026/all.parquet", ("s3", "books", "2026/all.parquet")),
        ("gs://books", ("gs", "books", "")),
        ("az://books/a/", ("az", "books", "a/")),
        ("file:///srv/my%20books", ("file", "", "/srv/my books")),
    ],
)
def test_a_url_has_a_bucket_and_a_key(text: str, parsed: tuple[str, str, str]) -> None:
    assert ObjectUrl.parse(text) == parsed


@pytest.mark.parametrize(
    "text",
    [
        *("books", "ftp://books/a", "s3://", "s3:///a", "s3://b/a", "s3://books/../a", "s3://books//a"),
        *(
            "s3://books/a\nb",
            "file://host/a",
            "file:///",
            "file://",
            "s3://books/a?endpoint=http://x",
            "s3://books/a#b",
        ),
    ],
)
def test_another_text_is_refused_with_what_to_give(text: str) -> None:
    with pytest.raises(UsageError, match=r":"):
        ObjectUrl.parse(text)


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="credentials") as refused:
        ObjectUrl.parse("s3://AKIA123:hidden@books/a")
    assert "hidden" not in str(refused.value) and "AKIA123" not in str(refused.value)
    with pytest.raises(UsageError) as refused:
        ObjectUrl.parse("s3://books/a?secret=hidden")
    assert "hidden" not in str(refused.value)


def test_a_masked_url_keeps_what_helps() -> None:
    assert masked("redis://:pw@host/0?list=k") == "redis://***@host/0?list=***"
    assert masked("s3://books/a") == "s3://books/a"


def test_a_url_splits_into_folder_and_name() -> None:
    assert ObjectUrl.parse("s3://books/2026/all.csv").split() == ("s3://books/2026", "all.csv")
    assert ObjectUrl.parse("s3://books/all.csv").split() == ("s3://books/", "all.csv")
    assert ObjectUrl.parse("file:///all.csv").split() == ("file:///", "all.csv")


def test_only_buckets_are_bucket_urls() -> None:
    assert is_bucket_url("gs://books/a") and not is_bucket_url("file:///a") and not is_bucket_url("s3")
