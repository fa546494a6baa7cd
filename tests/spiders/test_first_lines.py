from __future__ import annotations

import random

from shoal.spiders.first_lines import FirstLines


def test_each_fingerprint_keeps_its_first_line_as_the_table_grows() -> None:
    rng = random.Random(7)
    fingerprints = [rng.getrandbits(64) - 2**63 for _ in range(5_000)]
    # Many that fall into the same slots, and zero, which an empty slot holds too.
    fingerprints += [0, *(n << 40 for n in range(1, 500))]
    lines, known = FirstLines(), dict[int, int]()
    for line, fingerprint in enumerate(rng.choices(fingerprints, k=30_000), 1):
        assert lines.of(fingerprint, line) == known.setdefault(fingerprint, line)
