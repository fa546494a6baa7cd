"""What a reading takes from honest pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract import Reading, read
from shoal.extract.page import MAX_DESCRIPTION, MAX_TEXT, MAX_TITLE
from shoal.extract.source import TREE_MAX_BYTES

# Appended to a page, this makes libxml2's events read it instead of lexbor.
PADDING = "<p>" + "<!-- -->" * (TREE_MAX_BYTES // 8)


@pytest.fixture(params=["", PADDING], ids=["tree", "stream"], name="reading_of")
def _reading_of(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    def reading_of(html: str, header_robots: str = "") -> Reading:
        return read((html + request.param).encode(), header_robots)

    return reading_of
