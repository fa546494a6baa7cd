from __future__ import annotations

from shoal.cli.quality_table import quality_lines, quality_records
from shoal.store.results.quality import FieldQuality

NOW = [
    FieldQuality("Book", "title", "text", 1200, 0, 10_001, "3", "251"),
    FieldQuality("Book", "price", "decimal", 1200, 300, 87, "0.99", "1" * 70),
]
BEFORE = [
    FieldQuality("Book", "title", "text", 2400, 0, 2000, "3", "251"),
    FieldQuality("Book", "price", "decimal", 2400, 24, 90, "0.99", "99.00"),
]


def test_the_table_fits_80_columns_and_tells_what_changed() -> None:
    heading, header, title, price = quality_lines(NOW, BEFORE, 80)
    assert heading == "Book: 1,200 items, -50.0% against 2,400 in the last run"
    assert header.split() == ["field", "null", "distinct", "min", "max", "change"]
    assert title.split() == ["title", "0.0%", "10,000+", "3", "chars", "251", "chars", "none"]
    assert price.split()[:4] == ["price", "25.0%", "87", "0.99"] and price.endswith("null +24.0 points")
    assert max(map(len, (heading, header, title, price))) <= 80


def test_one_is_not_plural() -> None:
    tags = FieldQuality("Book", "tags", "list", 5, 0, 5, "1", "2")
    letter = FieldQuality("Book", "letter", "text", 5, 0, 5, "1", "1200")
    *_, first, second = quality_lines([tags, letter], [], 80)
    assert first.split()[3:-1] == ["1", "entry", "2", "entries"]
    assert second.split()[3:-1] == ["1", "char", "1,200", "chars"]


def test_without_a_last_run_no_changes_are_shown() -> None:
    heading, _, title, _ = quality_lines(NOW, [], 80)
    assert heading == "Book: 1,200 items" and title.endswith("–")


def test_a_type_without_items_shows_only_that() -> None:
    assert quality_lines([], BEFORE, 80) == ["Book: 0 items, -100.0% against 2,400 in the last run"]


def test_programs_get_an_object_per_field() -> None:
    title, price = quality_records(NOW, BEFORE)
    assert title["distinct"] == "10,000+"
    assert price == {
        "type": "quality",
        "item": "Book",
        "field": "price",
        "kind": "decimal",
        "items": 1200,
        "null_share": 0.25,
        "distinct": 87,
        "min": "0.99",
        "max": "1" * 70,
        "items_before": 2400,
        "null_share_before": 0.01,
    }
