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
        "cli": _command(urls, options, rules),
        "curl": "curl -H \"Authorization: Bearer $SHOAL_TOKEN\" -H 'Content-Type: application/json' "
        f"-d {quote(json.dumps(given, ensure_ascii=False))} {origin}/api/v1/jobs",
        "python": "from shoal.client import Client\n\n"
        f'Client("{origin}", "shoal_…").submit({", ".join(f"{name}={value!r}" for name, value in given.items())})',
    }


def _command(urls: Sequence[str], options: Mapping[str, Any], rules: str) -> str:
    flags = [
        word
        for name, value in options.items()
        if name != "rules"
        for word in (OPTIONS[name].flag, quote(f"{value:g}" if isinstance(value, float) else str(value)))
    ]
    file = [RULES_FILE] if rules.strip() else []
    command = " ".join(["shoal submit", *file, *map(quote, urls), *flags])
    return f"cat > {RULES_FILE} <<'RULES'\n{rules.strip()}\nRULES\n{command}" if file else command
