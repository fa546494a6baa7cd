from __future__ import annotations

import random

from shoal.spiders.first_line_of_url import FirstLines


def test_each_fingerprint_keeps_its_first_line_as_the_table_grows() -> None:
    rng = random.Random(7)
    fingerprints = [rng.getrandbits(64) - 2**63 for _ in range(5_000)]
    # Many with the same slot, and zero, which an empty slot also contains.
    fingerprints += [0, *(n << 40 for n in range(1, 500))]
    lines, known = FirstLines(), dict[int, int]()
    for line, fingerprint in enumerate(rng.choices(fingerprints, k=30_000), 1):
        assert lines.first_line(fingerprint, line) == known.setdefault(fingerprint, line)
