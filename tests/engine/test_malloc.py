"""That memory is kept is seen by the page faults of a process of its own: what is set holds for all of it."""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 50
FAULTS_OF = """
import ctypes, resource, sys
from shoal.engine.malloc import keep_freed_memory

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
PIECE, PIECES = 100_000, 20

def use_two_megabytes():
    pieces = [libc.malloc(ctypes.c_size_t(PIECE)) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, PIECE)
    for piece in reversed(pieces):
        libc.free(ctypes.c_void_p(piece))

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    keep_freed_memory(8 << 20)
use_two_megabytes()
before = faults()
for _ in range(int(sys.argv[2])):
    use_two_megabytes()
print(faults() - before)
"""


def faults(how: str) -> int:
    ran = subprocess.run([sys.executable, "-c", FAULTS_OF, how, str(ROUNDS)], capture_output=True, check=True)
    return int(ran.stdout)


def test_memory_that_was_freed_serves_again() -> None:
    assert faults("kept") < ROUNDS < faults("given back")
