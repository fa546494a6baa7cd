"""Tables as rows."""

from shoal.extract.document import Document
from shoal.extract.tables import MAX_CELLS, MAX_COLUMNS, Table, tables


def found(html: str) -> list[Table]:
    return tables(Document(html.encode(), "http://x.test/"))


def test_spans_fill_every_place_they_cover() -> None:
    (table,) = found(
        "<table><caption>C</caption><tr><th>a<th>b<th>b"
        "<tr><td rowspan=2>1<td colspan=2>2<tr><td>3<td>4<tr><td>5</table>"
    )
    assert table == Table("C", ["a", "b", "b"], [["1", "2", "2"], ["1", "3", "4"], ["5"]])
    assert table.records()[1:] == [{"a": "1", "b": "3", "column 3": "4"}, {"a": "5"}]


def test_a_rowspan_reaches_over_several_rows_and_no_further() -> None:
    (table,) = found("<table><tr><td>x<td rowspan=3>y" + "<tr><td>n" * 3 + "</table>")
    assert table.rows == [["x", "y"], ["n", "y"], ["n", "y"], ["n"]]


def test_a_head_is_a_header_whatever_its_cells() -> None:
    (table,) = found("<table><thead><tr><td>a<td>b<tbody><tr><td>1<td>2</table>")
    assert (table.header, table.rows) == (["a", "b"], [["1", "2"]])


def test_a_table_without_header_numbers_its_columns() -> None:
    (table,) = found("<table><tr><td>1<td>2</table>")
    assert table.records() == [{"column 1": "1", "column 2": "2"}]


def test_a_table_that_holds_another_is_passed_over() -> None:
    assert [table.rows for table in found("<table><tr><td><table><tr><td>in</table></table>")] == [[["in"]]]


def test_empty_tables_are_left_out() -> None:
    assert found("<table></table><table><tr></table>") == []


def test_tables_are_bounded() -> None:
    (wide,) = found("<table><tr><td colspan=99999 rowspan=99999>x</table>")
    assert wide.rows == [["x"] * MAX_COLUMNS]
    rows = "<tr>" + "<td colspan=1000 rowspan=1000>x"
    assert sum(len(row) for table in found(f"<table>{rows * 600}</table>" * 2) for row in table.rows) <= MAX_CELLS
