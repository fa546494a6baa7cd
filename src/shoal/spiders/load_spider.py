"""Loads a spider by name: `shop.py`, `shop.py:books`, `package.module:books`, or a rules file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import shoal.spiders.callback_tasks  # noqa: F401 - before the spider, which may import all_tasks from asyncio
from shoal.errors import ShoalError, UsageError
from shoal.spiders.check_callback_names import check_callback_names
from shoal.spiders.spider import Spider
from shoal.spiders.spider_reference import RULES_SUFFIXES, SPIDER_FILE, SPIDER_MODULE

_loading = threading.RLock()
"""Held while a file runs: files of one name share their place in sys.modules, where their classes are looked up."""


def load_spider(reference: str) -> Spider:
    """Raises UsageError, with the line, for a file that cannot be loaded or has no such spider."""
    if Path(reference).suffix.lower() in RULES_SUFFIXES:
        from shoal.spiders import rules

        return rules.load(Path(reference))
    found = SPIDER_FILE.fullmatch(reference)
    if found:
        path = Path(found["path"]).resolve()
        with _loading:
            module = _run_file(path)
        name, spider = _spider_in(module, found["name"], str(path))
        check_callback_names(spider)
        spider.reference = f"{path}:{name}"
        return spider
    found = SPIDER_MODULE.fullmatch(reference)
    if found is None:
        raise UsageError(f"{reference!r} is not a spider: give shop.py, shop.py:name or package.module:name")
    _, spider = _spider_in(_import(found["module"]), found["name"], found["module"])
    check_callback_names(spider)
    spider.reference = reference
    return spider


def _run_file(path: Path) -> ModuleType:
    name = f"shoal_spider_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"cannot load {path} as Python: check that it exists")
    module = importlib.util.module_from_spec(spec)
    # The file may import its neighbours, and other code may look up its classes by module name.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ShoalError as error:
        raise UsageError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        # Any exception of the user's file is reported with its line.
        message = error.msg if _is_syntax_error(error, path) else error
        raise UsageError(f"cannot load {path}: {type(error).__name__}: {message}{_line_in(path, error)}") from error
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"cannot import the module {name}: {error}; is it installed here?") from error
    except (Exception, SystemExit) as error:
        # Any exception of the user's module: a worker must survive it and report it.
        raise UsageError(f"cannot load the module {name}: {type(error).__name__}: {error}") from error


def _spider_in(module: ModuleType, name: str | None, place: str) -> tuple[str, Spider]:
    """The spider and the name of its variable."""
    spiders = {key: value for key, value in vars(module).items() if isinstance(value, Spider)}
    if name is not None and name in spiders:
        return name, spiders[name]
    if name is None and len(spiders) == 1:
        return spiders.popitem()
    known = ", ".join(spiders)
    if not spiders:
        raise UsageError(f"{place} defines no spider: decorate a function with @spider(URL)")
    if name is None:
        raise UsageError(f"{place} has several spiders ({known}): choose one with {place}:NAME")
    raise UsageError(f"{place} has no spider {name!r}; it has {known}")


def _is_syntax_error(error: BaseException, path: Path) -> TypeGuard[SyntaxError]:
    """In the file itself, not in one that it imports."""
    return isinstance(error, SyntaxError) and error.filename == str(path)


def _line_in(path: Path, error: BaseException) -> str:
    if _is_syntax_error(error, path) and error.lineno:
        return f" (line {error.lineno})"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
