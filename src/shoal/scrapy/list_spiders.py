"""The program that the API starts to list the spiders of a Scrapy project, whose code runs in no other process of it.

It reads on its standard input where the project is, and prints the names of the spiders or what is wrong as JSON. What
the project prints goes to the standard error.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

from scrapy.spiderloader import SpiderLoader
from scrapy.utils.project import get_project_settings

from shoal.errors import UsageError
from shoal.scrapy.uploaded_project import unpack, use

MEMORY_BYTES = 4 << 30
FILE_BYTES = 512 << 20
LINES = 12
"""Of a traceback; its end says what is wrong."""


def main() -> None:
    asked = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    json.dump(answered(asked), answer)
    answer.close()
    # Whatever the project has started.
    os._exit(0)


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"spiders": spiders_of(asked)}
    except UsageError as error:
        return {"error": str(error)}
    except BaseException:
        # Its code may raise anything, SystemExit too.
        return {"error": "".join(traceback.format_exc().splitlines(keepends=True)[-LINES:]).strip()}


def spiders_of(asked: dict[str, Any]) -> list[str]:
    """`package`: a file to unpack into `folder`; else `project`: a folder; else `settings`: their import path."""
    if asked.get("package") is not None:
        unpack(Path(asked["package"]), Path(asked["folder"]))
        use(Path(asked["folder"]))
    elif asked.get("project") is not None:
        os.chdir(asked["project"])
        sys.path.insert(0, asked["project"])
    else:
        os.environ["SCRAPY_SETTINGS_MODULE"] = asked["settings"]
    return sorted(SpiderLoader.from_settings(get_project_settings()).list())


if __name__ == "__main__":
    main()
