"""A spider that cannot be loaded gives a clear error, whatever its module does: a worker must survive it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.spiders.load_spider import load_spider

SHOP = "from shoal import spider\n\n@spider('https://a.example')\ndef shop(page): yield\n"


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
def test_any_exception_of_a_module_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str, form: str
) -> None:
    file = tmp_path / "ill" / "shop.py"
    file.parent.mkdir()
    file.write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("ill", "ill.shop"):
        sys.modules.pop(name, None)
    with pytest.raises(UsageError, match=r"cannot (import|load) ") as told:
        load_spider("ill.shop:shop" if form == "module" else str(file))
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("neighbour", "code", "said"),
    [
        ("", "x = 1\nx = = 1\n", "SyntaxError: invalid syntax (line 2)"),
        (
            "x = = 1\n",
            "x = 1\nimport ill_neighbour\n",
            "SyntaxError: invalid syntax (ill_neighbour.py, line 1) (line 2)",
        ),
        ("", "from shoal import spider\nspider('https://a.example', raet=1)\n", "a spider has no option raet: "),
        (
            "",
            "from shoal import spider\nspider(['https://a.example'])\n",
            "@spider takes each URL as text, not a list: ",
        ),
    ],
)
def test_a_fault_is_reported_once_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, neighbour: str, code: str, said: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "ill_neighbour.py").write_text(neighbour)
    (tmp_path / "shop.py").write_text(code)
    with pytest.raises(UsageError) as told:
        load_spider(str(tmp_path / "shop.py"))
    assert f": {said}" in str(told.value)


def test_a_file_keeps_its_spider_when_another_file_of_its_name_takes_its_place_in_sys_modules(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(f"import sys, types\n{SHOP}\nsys.modules[__name__] = types.ModuleType(__name__)\n")
    assert load_spider(str(path)).reference == f"{path}:shop"


def test_two_threads_take_turns_at_running_spider_files(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(
        "import pathlib, time\n"
        "running = pathlib.Path(__file__).with_suffix('.running')\n"
        "running.touch(exist_ok=False)\n"
        "time.sleep(0.05)\n"
        f"running.unlink()\n{SHOP}"
    )
    with ThreadPoolExecutor(4) as threads:
        loaded = list(threads.map(load_spider, [str(path)] * 4))
    assert {spider.name for spider in loaded} == {"shop"}
