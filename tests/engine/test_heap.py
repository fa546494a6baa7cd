"""That memory is kept is seen by the page faults of a process of its own: what is set holds for all of it."""

from __future__ import annotations

import subprocess
import sys

PAGES = 200
FAULTS_OF = """
import resource, sys
from shoal.engine.heap import keep_freed
from shoal.extract.page import read
if sys.argv[1] == "kept":
    keep_freed(8 << 20)
page = b"<body>" + b"<p>a <a href=/b>link</a>" * 400
read(page)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(int(sys.argv[2])):
    read(page)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    ran = subprocess.run([sys.executable, "-c", FAULTS_OF, how, str(PAGES)], capture_output=True, check=True)
    return int(ran.stdout)


def test_the_memory_of_a_page_serves_the_next_one() -> None:
    assert faults("kept") < PAGES < faults("given back")
