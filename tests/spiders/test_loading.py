"""A spider that cannot be loaded is a clear error, whatever its module does: a worker must outlive it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.spiders.loading import load_spider


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\nos.environ['SHOP_TOKEN']\n", "KeyError: 'SHOP_TOKEN'"),
        ("def broken(:\n", "SyntaxError"),
        ("import sys\nsys.exit('no')\n", "SystemExit: no"),
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
    ],
)
@pytest.mark.parametrize("form", ["module", "file"])
def test_whatever_a_module_raises_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str, form: str
) -> None:
    file = tmp_path / "ill" / "shop.py"
    file.parent.mkdir()
    file.write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("ill", "ill.shop"):
        sys.modules.pop(name, None)
    with pytest.raises(UsageError, match=r"cannot be (imported|loaded)") as told:
        load_spider("ill.shop:shop" if form == "module" else str(file))
    assert said in str(told.value)
