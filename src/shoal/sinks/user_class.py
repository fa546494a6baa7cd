"""A sink that a user wrote: a class by its import path, with two methods.

    class Sink:
        def deliver(self, items, removed): ...
        def close(self): ...

`items` are dictionaries with `_id`, `_type`, `_job`, `_url` and the fields of the item; `removed` have no fields.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import Unavailable, UsageError
from shoal.sinks.destination import Destination, Options, SinkBatch, SinkItem
from shoal.sinks.item_json import item_fields, removed_fields
from shoal.store.crawl.sink_state import Refusal

_METHODS = ("deliver", "close")


class UserSink(Destination):
    def __init__(self, path: str, options: Options) -> None:
        self._path = path
        try:
            self._sink = self._call(_load(path), **options)
        except Unavailable as error:
            if isinstance(error.__cause__, TypeError):
                raise UsageError(f"{error}: the parameters after ? are its arguments") from error
            raise

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        refusals: list[Refusal] = []
        for chunk in batch.chunks:
            answer = self._call(self._sink.deliver, [item_fields(batch.job, item) for item in chunk], [])
            refusals += self._refusals(chunk, answer)
        if batch.removed:
            self._call(self._sink.deliver, [], [removed_fields(batch.job, name) for name in batch.removed])
        return refusals

    def close(self) -> None:
        self._call(self._sink.close)

    def _refusals(self, chunk: Sequence[SinkItem], answer: Any) -> list[Refusal]:
        if answer is None:
            return []
        if not isinstance(answer, Mapping):
            raise UsageError(f"{self._path}: deliver returned {answer!r:.80}: return None, or {{id: reason}}")
        refused = [item for item in chunk if item.name.id in answer]
        return [Refusal(item.name, item.page, item.data, str(answer[item.name.id])) for item in refused]

    def _call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except (Unavailable, UsageError):
            raise
        except (Exception, SystemExit) as error:
            # Whatever fails in a user's code may pass; the job says what it is.
            raise Unavailable(f"{self._path}: {type(error).__name__}: {error}") from error


def _load(path: str) -> type[Any]:
    module, _, name = path.partition(":")
    found = getattr(_imported(module), name, None)
    if not isinstance(found, type) or not all(callable(getattr(found, method, None)) for method in _METHODS):
        raise UsageError(f"sink {path}: {module} has no class {name} with the methods {' and '.join(_METHODS)}")
    return found


def _imported(module: str) -> Any:
    # As `python -m` would find it.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    # Some libraries complain if what they made is not freed at the end, and a crawl keeps modules from the collector.
    atexit.register(gc.unfreeze)
    try:
        return importlib.import_module(module)
    except Exception as error:
        # The user's module may raise anything when it is imported; the message names it.
        raise UsageError(f"sink: cannot import {module}: {type(error).__name__}: {error}") from error
