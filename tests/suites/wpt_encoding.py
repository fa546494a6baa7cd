"""The encoding-detection tests of web-platform-tests: pages that declare no charset. Texts are compared, not names."""

from __future__ import annotations

import re
from pathlib import Path

from shoal.fetch.charset import to_utf8
from shoal.fetch.charset_labels import codec_of_label
from tests.suites.suite import Result

_ASSERTED = re.compile(rb'assert_(not_)?equals\([\w.]+(?:\(\))?, "([\w-]+)"')
_OPENED = re.compile(rb'window\.open\("([^"]+)"')
"""The test's text is in a page of its own, far down."""


def run(checkout: Path) -> Result:
    result = Result()
    for file in sorted((checkout / "encoding-detection").glob("*.html")):
        test = file.read_bytes()
        asserted, opened = _ASSERTED.search(test), _OPENED.search(test)
        assert asserted is not None, file
        body = (file.parent / opened[1].decode()).read_bytes() if opened else test
        label = asserted[2].decode()
        codec = codec_of_label(label)
        assert codec is not None, label
        is_expected = to_utf8(body, "text/html") == body.decode(codec, "replace").encode()
        result.note(is_expected is (asserted[1] is None), f"{file.name}: {label}")
    return result
