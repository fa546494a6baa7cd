"""The Lua code of the frontier, as one library of Redis functions.

Each verb is a file in `lua/` that becomes the body of a function. The files in SHARED hold code that verbs share. The
library's name is a hash of its content, so workers of two versions can use one Redis. As scripts, the same code would
be set up again for every call, which costs 20 us or more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from pathlib import Path

LUA = Path(__file__).parent / "lua"
SHARED = ("prelude", "pace", "clock", "queue", "seen", "settle", "leasing", "comparison", "discard_queues")
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
    flag = f"'{flags[1]}'" if flags else ""
    may_write = "false" if "no-writes" in flag else "true"
    return (
        f"redis.register_function{{function_name = '{function}', flags = {{{flag}}}, callback = function(keys, argv)\n"
        f"return guarded('{verb}', keys, argv, {may_write}, function()\n{text}\nend)\nend}}"
    )
