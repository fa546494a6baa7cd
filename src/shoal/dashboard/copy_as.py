"""The job in the form of the page, as a command, as curl and as Python, so that a person can use it elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from shoal.model.options import OPTIONS

RULES_FILE = "rules.yml"


def copies(urls: Sequence[str], options: Mapping[str, Any], rules: str, origin: str) -> dict[str, str]:
    """`rules` is the YAML text that was typed; `options` has what it means. `origin` is that of the API."""
    given = {**({"urls": list(urls)} if urls else {}), **options}
    return {
        "cli": _command(urls, options, rules, origin),
        "curl": "curl -sS -H \"Authorization: Bearer $SHOAL_TOKEN\" -H 'Content-Type: application/json' "
        f"-d {quote(json.dumps(given, ensure_ascii=False))} {origin}/api/v1/jobs",
        "python": "import os\n\nfrom shoal.client import Client\n\n"
        f'with Client("{origin}", os.environ["SHOAL_TOKEN"]) as shoal:\n'
        f'    print(shoal.submit({", ".join(f"{name}={value!r}" for name, value in given.items())})["id"])',
    }


def _command(urls: Sequence[str], options: Mapping[str, Any], rules: str, origin: str) -> str:
    flags = [
        word
        for name, value in options.items()
        if name != "rules"
        for word in (OPTIONS[name].flag, quote(_number(value) if isinstance(value, float) else str(value)))
    ]
    file = [RULES_FILE] if rules.strip() else []
    command = " ".join([f"shoal --api {origin} submit", *file, *map(quote, urls), *flags])
    return f"cat > {RULES_FILE} <<'RULES'\n{rules.strip()}\nRULES\n{command}" if file else command


def _number(value: float) -> str:
    """`2` for 2.0, and all digits."""
    return str(int(value)) if value.is_integer() else repr(value)
