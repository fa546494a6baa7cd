from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import UsageError
from shoal.model.field_type import TEXT, FieldType, Precision, type_from_json, type_to_json
from shoal.store.results.columns import Kind
from shoal.store.results.export import export
from shoal.store.results.row_formats import chunks


def written(tmp_path: Path, type: Kind | FieldType, values: list[Any]) -> tuple[pa.DataType, list[Any]]:
    """The type of the column and the values read back from it."""
    path = tmp_path / "out.parquet"
    rows = [{"v": value} for value in values]
    assert export(rows, str(path), {"v": type}) == len(rows)
    table = pq.read_table(path)
    return table.schema.types[0], table["v"].to_pylist()


DECLARED: list[tuple[Any, pa.DataType]] = [
    ("text", pa.string()),
    ("url", pa.string()),
    ("integer", pa.int64()),
    ("number", pa.float64()),
    ("boolean", pa.bool_()),
    ("decimal", pa.decimal128(38, 9)),
    ("decimal(12,2)", pa.decimal128(12, 2)),
    ("decimal(60,20)", pa.decimal256(60, 20)),
    ("date", pa.date32()),
    ("datetime", pa.timestamp("us", tz="UTC")),
    ("object", pa.string()),
    ("list", pa.list_(pa.string())),
    ({"list": "decimal(5,1)"}, pa.list_(pa.decimal128(5, 1))),
    (
        {"object": {"name": "text", "tags": {"list": "integer"}}},
        pa.struct([("name", pa.string()), ("tags", pa.list_(pa.int64()))]),
    ),
    ({"list": {"object": {"stars": "number"}}}, pa.list_(pa.struct([("stars", pa.float64())]))),
]


@pytest.mark.parametrize(("declared", "arrow"), DECLARED, ids=[json.dumps(declared) for declared, _ in DECLARED])
def test_a_column_has_its_declared_type_even_without_a_value(tmp_path: Path, declared: Any, arrow: pa.DataType) -> None:
    type = type_from_json(declared)
    assert written(tmp_path, type, [])[0] == written(tmp_path, type, [None])[0] == arrow
    assert type_from_json(json.loads(json.dumps(type_to_json(type)))) == type


@pytest.mark.parametrize(
    ("declared", "values", "back"),
    [
        ("decimal(4,2)", ["51.77", "7", None, "-0.500", "1E+1"], [Decimal(v) for v in ("51.77", "7")]),
        ("decimal(38,0)", ["9" * 38], [Decimal("9" * 38)]),
        ("decimal(2,2)", ["0.00", "0.99"], [Decimal("0.00"), Decimal("0.99")]),
        ("integer", [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        ("number", [1, 2.5], [1.0, 2.5]),
        ("date", ["2024-02-29"], [date(2024, 2, 29)]),
        ({"list": "integer"}, [[1, None], []], [[1, None], []]),
        ("list", [["a", None, 3, {"b": 1}]], [["a", None, "3", '{"b": 1}']]),
        ("object", [{"a": [1]}, "x\ud800"], ['{"a": [1]}', "x\ufffd"]),
        ("text", ["a", 5], ["a", "5"]),
        (
            {"object": {"price": "decimal(5,2)", "none": "text"}},
            [{"price": "1.5", "unknown": 1}],
            [{"price": Decimal("1.50"), "none": None}],
        ),
    ],
)
def test_values_keep_every_digit(tmp_path: Path, declared: Any, values: list[Any], back: list[Any]) -> None:
    _, found = written(tmp_path, type_from_json(declared), values)
    assert found[: len(back)] == back


def test_times_have_a_zone(tmp_path: Path) -> None:
    times = ["2024-01-01T10:00:00.000001+02:00", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00"]
    _, back = written(tmp_path, FieldType("datetime"), times)
    ten = datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert back == [datetime(2024, 1, 1, 8, 0, 0, 1, UTC), ten, ten]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("decimal(4,2)", "1.234"),
        ("decimal(4,2)", "100"),
        ("decimal", "soon"),
        ("decimal", "NaN"),
        ("decimal(76,0)", "9" * 80),
        ("integer", 2**63),
        ("integer", "7"),
        ("boolean", 1),
        ("date", "soon"),
        ({"list": "integer"}, [1, "x"]),
        ({"list": "integer"}, 5),
        ({"object": {"n": "integer"}}, {"n": 1.5}),
        ({"object": {"n": "integer"}}, []),
    ],
)
def test_a_value_that_does_not_fit_refuses_the_export_and_is_named(tmp_path: Path, declared: Any, value: Any) -> None:
    with pytest.raises(UsageError, match=r"^v .* does not fit its Parquet column: change the field's type") as refused:
        written(tmp_path, type_from_json(declared), [None, value])
    inner = value[-1] if isinstance(value, list) and value else value
    assert repr(inner)[:90].strip("{}") in str(refused.value) or "1.5" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_streamed_export_is_refused_before_its_first_byte() -> None:
    rows = [{"v": 1}] * 5000 + [{"v": "x"}]
    with pytest.raises(UsageError, match="v 'x' is no 64-bit integer"):
        next(chunks(rows, "parquet", {"v": FieldType("integer")}))


def test_a_missing_field_is_null(tmp_path: Path) -> None:
    columns = {"a": TEXT, "b": FieldType("decimal", Precision(5, 1))}
    export([{"a": "x"}, {"b": "1.5"}], str(tmp_path / "o.parquet"), columns)
    assert pq.read_table(tmp_path / "o.parquet").to_pylist() == [
        {"a": "x", "b": None},
        {"a": None, "b": Decimal("1.5")},
    ]


@pytest.mark.parametrize("digits", [(0, 0), (77, 2), (5, 6), (5, -1)])
def test_a_precision_has_bounds(digits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 to 76"):
        Precision(*digits)
