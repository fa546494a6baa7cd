"""The options of a job as a program asks for them, in JSON: those of rules, and what only an order can say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shoal.model import Lane
from shoal.spiders.rules.keys import NUMBERS, OPTIONS
from shoal.spiders.rules.shapes import TRUTH, Choice, Key, Many, Table, Text
from shoal.spiders.rules.written import Faults, read

ASKED = Table(
    "options",
    {
        **OPTIONS.keys,
        "name": Key(Text("a name"), "What to call the job."),
        "lane": Key(Choice(tuple(lane.value for lane in Lane)), "Class of service."),
        "priority": Key(NUMBERS["priority"], "Higher goes first."),
        "max_bytes": Key(NUMBERS["max_bytes"], "Stop after so many bytes."),
        "formats": Key(Many(Text("the name of a format")), "Keep these of each page too."),
        "refresh": Key(TRUTH, "Ask only for what changed since the last job of the same name."),
        "no_text": Key(TRUTH, "Keep records of pages only, not their text and links."),
        "no_archive": Key(TRUTH, "Do not keep the raw answers."),
        "max_archive_bytes": Key(NUMBERS["max_archive_bytes"], "Keep at most so many bytes of them."),
        "webhook": Key(Text("a URL"), "Tell this address when the job's state changes."),
        "webhook_secret": Key(Text("a secret"), "Sign what is told."),
        "error_on_limit": Key(TRUTH, "A limit that ended it is an error."),
    },
)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises UsageError with every fault."""
    faults = Faults("options")
    ASKED.check("the options", read(json.dumps(dict(options)), faults), faults)
    faults.raise_if_any()
