"""Finds the spider a word names: `shop.py`, `shop.py:books`, `package.module:books`, or a rules file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from shoal.errors import ShoalError, UsageError
from shoal.spiders.naming import RULES_ENDINGS, SPIDER_FILE, SPIDER_MODULE
from shoal.spiders.spider import Spider


def load_spider(reference: str) -> Spider:
    """Raises UsageError, with the line, for a file that cannot be loaded or holds no such spider."""
    if Path(reference).suffix.lower() in RULES_ENDINGS:
        from shoal.spiders import rules

        return rules.load(Path(reference))
    found = SPIDER_FILE.fullmatch(reference)
    if found:
        path = Path(found["path"]).resolve()
        spider = _spider_in(_run_file(path), found["name"], str(path))
        spider.reference = f"{path}:{_variable(spider, path)}"
        return spider
    module = SPIDER_MODULE.fullmatch(reference)
    if module is None:
        raise UsageError(f"{reference!r} names no spider: give shop.py, shop.py:name or package.module:name")
    spider = _spider_in(_import(module["module"]), module["name"], module["module"])
    spider.reference = reference
    return spider


def _run_file(path: Path) -> ModuleType:
    name = f"shoal_spider_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path} cannot be loaded as Python: does it exist?")
    module = importlib.util.module_from_spec(spec)
    # Neighbours of the file are importable, and so is the file itself for whoever looks its classes up.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ShoalError as error:
        raise UsageError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        # Whatever the user's file raises while it is loaded is told with its place.
        said = error.msg if _is_misspelt(error, path) else error
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {said}{_line_in(path, error)}") from error
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"module {name} cannot be imported: {error}; is it installed here?") from error
    except (Exception, SystemExit) as error:
        # Whatever the user's module raises while it is loaded: a worker must outlive it, and say so.
        raise UsageError(f"module {name} cannot be loaded: {type(error).__name__}: {error}") from error


def _spider_in(module: ModuleType, name: str | None, place: str) -> Spider:
    spiders = {key: value for key, value in vars(module).items() if isinstance(value, Spider)}
    if name is not None and name in spiders:
        return spiders[name]
    if name is None and len(spiders) == 1:
        return next(iter(spiders.values()))
    known = ", ".join(spiders) or "none"
    wanted = f"no spider {name!r}" if name else "no spider" if not spiders else "several spiders"
    raise UsageError(f"{place} holds {wanted} (there are: {known}); make one with @spider(URL), name one with :NAME")


def _variable(spider: Spider, path: Path) -> str:
    module = sys.modules[f"shoal_spider_{path.stem}"]
    return next(key for key, value in vars(module).items() if value is spider)


def _is_misspelt(error: BaseException, path: Path) -> TypeGuard[SyntaxError]:
    """The file itself, and not one that it imports."""
    return isinstance(error, SyntaxError) and error.filename == str(path)


def _line_in(path: Path, error: BaseException) -> str:
    if _is_misspelt(error, path) and error.lineno:
        return f" (line {error.lineno})"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
