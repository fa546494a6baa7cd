from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.store.columns import Kind
from shoal.store.export import export


def written(tmp_path: Path, kind: Kind, values: list[Any]) -> tuple[pa.DataType, list[Any]]:
    """The type of the one column, and what is read back from it."""
    path = tmp_path / "out.parquet"
    rows = [{"v": value} for value in values]
    assert export(rows, str(path), {"v": kind}) == len(rows)
    table = pq.read_table(path)
    return table.schema.types[0], table["v"].to_pylist()


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["51.77", "7", None], pa.decimal128(4, 2)),
        (["0.0001", "-1234.5"], pa.decimal128(8, 4)),
        (["0", None], pa.decimal128(1, 0)),
        (["0.00"], pa.decimal128(2, 2)),
        (["1E+5"], pa.decimal128(6, 0)),
        (["9" * 38], pa.decimal128(38, 0)),
        (["9" * 60 + ".25"], pa.decimal256(62, 2)),
        ([None], pa.decimal128(1, 0)),
    ],
)
def test_decimals_are_exact_and_as_narrow_as_their_values_allow(
    tmp_path: Path, values: list[Any], type: pa.DataType
) -> None:
    found, back = written(tmp_path, Kind.DECIMAL, values)
    assert found == type
    assert back == [None if value is None else Decimal(value) for value in values]


@pytest.mark.parametrize("values", [["9" * 80, "1"], ["1", "soon"], ["NaN", "2"]])
def test_what_no_decimal_holds_makes_the_column_text(tmp_path: Path, values: list[Any]) -> None:
    assert written(tmp_path, Kind.DECIMAL, values) == (pa.string(), values)


def test_integers_are_integers_unless_they_are_too_large_for_it(tmp_path: Path) -> None:
    assert written(tmp_path, Kind.WHOLE, [1, -(10**17), None]) == (pa.int64(), [1, -(10**17), None])
    assert written(tmp_path, Kind.WHOLE, [1, 10**30]) == (pa.decimal128(31, 0), [Decimal(1), Decimal(10**30)])


def test_dates_are_dates_and_times_have_a_zone(tmp_path: Path) -> None:
    assert written(tmp_path, Kind.DATE, ["2024-02-29", None]) == (pa.date32(), [date(2024, 2, 29), None])
    times = ["2024-01-01T10:00:00.000001+02:00", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00"]
    type, back = written(tmp_path, Kind.DATETIME, times)
    assert type == pa.timestamp("us", tz="UTC")
    assert back == [
        datetime(2024, 1, 1, 8, 0, 0, 1, UTC),
        datetime(2024, 1, 1, 10, tzinfo=UTC),
        datetime(2024, 1, 1, 10, tzinfo=UTC),
    ]
    assert written(tmp_path, Kind.DATE, ["2024-02-29", "soon"]) == (pa.string(), ["2024-02-29", "soon"])


@pytest.mark.parametrize(
    ("values", "entries"),
    [
        ([["a", None], [], None], pa.string()),
        ([[1, 2], [None]], pa.int64()),
        ([[1, 2.5]], pa.float64()),
        ([[True]], pa.bool_()),
        ([[]], pa.string()),
    ],
)
def test_lists_are_lists_of_what_they_hold(tmp_path: Path, values: list[Any], entries: pa.DataType) -> None:
    assert written(tmp_path, Kind.LIST, values) == (pa.list_(entries), values)


def test_entries_that_have_no_type_in_common_are_json_text(tmp_path: Path) -> None:
    type, back = written(tmp_path, Kind.LIST, [[{"a": 1}, "b", 3], [10**30]])
    assert (type, back) == (pa.list_(pa.string()), [['{"a": 1}', "b", "3"], [str(10**30)]])


def test_objects_are_json_text_and_plain_kinds_keep_their_type(tmp_path: Path) -> None:
    assert written(tmp_path, Kind.OBJECT, [{"a": [1]}, "x\ud800"]) == (pa.string(), ['{"a": [1]}', "x\ufffd"])
    assert written(tmp_path, Kind.NUMBER, [1, 2.5, None]) == (pa.float64(), [1.0, 2.5, None])
    assert written(tmp_path, Kind.BOOLEAN, [True, None]) == (pa.bool_(), [True, None])
    assert written(tmp_path, Kind.TEXT, ["a", 5]) == (pa.string(), ["a", "5"])


def test_a_field_that_a_row_does_not_have_is_null(tmp_path: Path) -> None:
    export([{"a": "x"}, {"b": "1.5"}], str(tmp_path / "o.parquet"), {"a": Kind.TEXT, "b": Kind.DECIMAL})
    assert pq.read_table(tmp_path / "o.parquet").to_pylist() == [
        {"a": "x", "b": None},
        {"a": None, "b": Decimal("1.5")},
    ]
