"""The encoding tests of html5lib: which charset a page without a header declares. Texts are compared, not names."""

from __future__ import annotations

from pathlib import Path

from shoal.fetch.charset import to_utf8
from shoal.fetch.charset_labels import codec_of_label
from tests.suites.suite import Result

_BOM = "\ufeff"


def run(checkout: Path) -> Result:
    result = Result()
    for file in sorted((checkout / "encoding").glob("*.dat")):
        for case in file.read_bytes().split(b"#data\n")[1:]:
            body, _, rest = case.partition(b"\n#encoding\n")
            label = rest.partition(b"\n")[0].decode()
            codec = codec_of_label(label)
            assert codec is not None, label
            text = body.decode(codec, "replace").removeprefix(_BOM).replace("\0", "\ufffd")
            result.note(to_utf8(body, "text/html") == text.encode(), f"{file.name}: {label}: {body[-80:]!r}")
    return result
