from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import UsageError
from shoal.store.results import columns
from shoal.store.results.columns import Kind
from shoal.store.results.export import check_writable, export
from tests.store.memory import peak_memory

COLUMNS = {"n": Kind.INTEGER, "text": Kind.TEXT, "at": Kind.TIME, "links": Kind.TEXTS}


def row(n: int | None = 1, text: str | None = "plain", links: list[str] | None = None) -> dict[str, Any]:
    return {"n": n, "text": text, "at": "2023-11-14T22:13:21.500Z", "links": links}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_jsonl_round_trips(tmp_path: Path) -> None:
    rows = [row(), row(None, None, []), row(2, 'quo"te\nline\t\0 日本 \u2028', ["a", "b"])]
    assert export(rows, str(tmp_path / "out.jsonl"), COLUMNS) == 3
    with (tmp_path / "out.jsonl").open(encoding="utf-8", newline="\n") as file:
        assert [json.loads(line) for line in file] == rows


def test_csv_round_trips_as_text(tmp_path: Path) -> None:
    rows = [row(2, 'quo"te, \r\nline 日本', ["a,b", "c"]), row(None, None, None)]
    assert export(rows, str(tmp_path / "out.CSV"), COLUMNS) == 2
    first, second = read_csv(tmp_path / "out.CSV")
    assert list(first) == list(COLUMNS)
    assert (first["n"], first["text"], json.loads(first["links"])) == ("2", 'quo"te, \r\nline 日本', ["a,b", "c"])
    assert (second["n"], second["text"], second["links"]) == ("", "", "")


def test_parquet_round_trips_with_its_types(tmp_path: Path) -> None:
    rows = [row(2**40, "日本", ["a"]), row(None, None, None)]
    assert export(rows, str(tmp_path / "out.parquet"), COLUMNS) == 2
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.types == [pa.int64(), pa.string(), pa.timestamp("ms", tz="UTC"), pa.list_(pa.string())]
    at = datetime(2023, 11, 14, 22, 13, 21, 500_000, UTC)
    assert table.to_pylist() == [
        {"n": 2**40, "text": "日本", "at": at, "links": ["a"]},
        {"n": None, "text": None, "at": at, "links": None},
    ]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_export_without_rows_is_a_readable_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    assert export([], str(path), columns.PAGE_WITH_CONTENT) == 0
    if ending == "csv":
        assert path.read_text().strip().split(",") == list(columns.PAGE_WITH_CONTENT)
    elif ending == "parquet":
        assert pq.read_table(path).column_names == list(columns.PAGE_WITH_CONTENT)
    else:
        assert path.read_bytes() == b""


@pytest.mark.parametrize("hostile", ['=cmd|"/c calc"!A1', "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_cells_never_start_a_formula(tmp_path: Path, hostile: str) -> None:
    export([row(-5, hostile)], str(tmp_path / "out.csv"), COLUMNS)
    (stored,) = read_csv(tmp_path / "out.csv")
    assert (stored["text"], stored["n"]) == ("'" + hostile, "-5")


def test_csv_writes_booleans_like_json_and_leaves_missing_fields_empty(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"yes": True, "n": 1}, {"yes": False}]
    export(rows, str(tmp_path / "out.csv"), {"yes": Kind.BOOLEAN, "n": Kind.INTEGER})
    assert (tmp_path / "out.csv").read_text().split() == ["yes,n", "true,1", "false,"]


@pytest.mark.parametrize("number", ["-5", "+3.50", "-1,234.5", "-1E+3"])
def test_numbers_in_text_stay_numbers(tmp_path: Path, number: str) -> None:
    export([row(text=number)], str(tmp_path / "out.csv"), COLUMNS)
    assert read_csv(tmp_path / "out.csv")[0]["text"] == number


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_lone_surrogates_are_replaced(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    export([row(1, "a\ud800b", ["\udfff"])], str(path), COLUMNS)
    if ending == "jsonl":
        stored = json.loads(path.read_text(encoding="utf-8"))
    elif ending == "csv":
        (cells,) = read_csv(path)
        stored = {**cells, "links": json.loads(cells["links"])}
    else:
        (stored,) = pq.read_table(path).to_pylist()
    assert (stored["text"], stored["links"]) == ("a\ufffdb", ["\ufffd"])


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    path.write_text("old")

    def failing() -> Iterator[dict[str, Any]]:
        yield row()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(failing(), str(path), COLUMNS)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_the_export_is_written_to_a_part_file_first(tmp_path: Path) -> None:
    names: list[set[str]] = []

    def watching() -> Iterator[dict[str, Any]]:
        names.append({file.name for file in tmp_path.iterdir()})
        yield row()

    export(watching(), str(tmp_path / "out.jsonl"), COLUMNS)
    names.append({file.name for file in tmp_path.iterdir()})
    assert names == [{"out.jsonl.part"}, {"out.jsonl"}]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_many_rows_stream_in_bounded_memory(tmp_path: Path, ending: str) -> None:
    export([row()], str(tmp_path / f"first.{ending}"), COLUMNS)  # imports what is imported once
    with peak_memory() as peak:
        export((row(n, "x" * 500 + str(n)) for n in range(15_000)), str(tmp_path / f"out.{ending}"), COLUMNS)
    assert peak.bytes < 6_000_000 < 15_000 * 500


def test_parquet_is_written_in_row_groups(tmp_path: Path) -> None:
    export((row(n) for n in range(10_000)), str(tmp_path / "out.parquet"), COLUMNS)
    written = pq.ParquetFile(tmp_path / "out.parquet")
    assert (written.metadata.num_rows, written.metadata.num_row_groups) == (10_000, 5)
    written.close()


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    check_writable("-")
    assert export([row(1, "日本\ud800")], "-", COLUMNS) == 1
    assert json.loads(capfdbinary.readouterr().out)["text"] == "日本\ufffd"


def test_unwritable_paths_are_refused_before_the_crawl(tmp_path: Path) -> None:
    (tmp_path / "dir.csv").mkdir()
    for name, message in [
        ("out.xlsx", r"end the name with one of \.jsonl, \.csv, \.parquet, \.json"),
        ("out", "unknown format"),
        ("dir.csv", "is a directory"),
        ("nowhere/out.csv", "there is no directory"),
    ]:
        with pytest.raises(UsageError, match=message):
            check_writable(str(tmp_path / name))
    check_writable(str(tmp_path / "out.csv"))
    assert [file.name for file in tmp_path.iterdir()] == ["dir.csv"]


def test_a_full_disk_gives_a_plain_message(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "out.jsonl.part").symlink_to("/dev/full")
    with pytest.raises(UsageError, match=r"cannot write .*out\.jsonl: No space left"):
        export([row()] * 100_000, str(tmp_path / "out.jsonl"), COLUMNS)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path) -> None:
    # -S leaves out the installed packages; this code needs none of them.
    script = (
        f"import sys\nsys.path.insert(0, {str(Path(shoal.__file__).parents[1])!r})\n"
        "from shoal.errors import UsageError\nfrom shoal.store.results.export import check_writable\n"
        f"try: check_writable({str(tmp_path / 'out.parquet')!r})\nexcept UsageError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, timeout=30)
    assert "pip install 'shoal[parquet]'" in told.stdout, told.stderr
