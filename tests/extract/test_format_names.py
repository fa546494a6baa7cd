from __future__ import annotations

from shoal.extract.format_names import FORMATS
from shoal.extract.make_formats import make_formats
from shoal.store.results import columns


def test_every_format_that_can_be_asked_for_is_made_and_has_a_column() -> None:
    assert (
        tuple(made.name for made in make_formats(b"<p>words", "http://site.test/", FORMATS))
        == FORMATS
        == tuple(columns.FORMATS)
    )
