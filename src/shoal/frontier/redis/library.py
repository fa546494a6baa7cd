"""The Lua of the frontier, as one library of Redis functions.

A verb is a file of `lua/` that becomes the body of a function; the other files are what verbs share. The library is
named by its content, so workers of two versions can use one Redis side by side. As scripts, the same files would be set
up again at every call, which costs 20 us or more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from pathlib import Path

LUA = Path(__file__).parent / "lua"
SHARED = ("prelude", "pace", "clock", "queue", "seen", "settle", "leasing", "comparison", "doom")
_FLAGS = re.compile(r"\A-- flags: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Library:
    name: str
    source: str

    def function(self, verb: str) -> str:
        return f"{self.name}_{verb}"


@cache
def library() -> Library:
    return assembled({path.stem: path.read_text() for path in sorted(LUA.glob("*.lua")) if path.stem not in SHARED})


def assembled(verbs: Mapping[str, str]) -> Library:
    shared = "".join((LUA / f"{part}.lua").read_text() for part in SHARED)
    name = f"shoal_{sha1(repr((shared, sorted(verbs.items()))).encode()).hexdigest()[:12]}"
    functions = [_registered(f"{name}_{verb}", verb, text) for verb, text in verbs.items()]
    return Library(name, "\n".join([f"#!lua name={name}", shared, *functions]))


def _registered(function: str, verb: str, text: str) -> str:
    flags = _FLAGS.match(text)
    said = f"'{flags[1]}'" if flags else ""
    may_write = "false" if "no-writes" in said else "true"
    return (
        f"redis.register_function{{function_name = '{function}', flags = {{{said}}}, callback = function(keys, argv)\n"
        f"return guarded('{verb}', keys, argv, {may_write}, function()\n{text}\nend)\nend}}"
    )
