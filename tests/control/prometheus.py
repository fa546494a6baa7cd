"""What Prometheus itself says of our metrics and rules, and how a test reads them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, tuple[str, ...]], float]


def promtool(*words: str, given: str = "") -> None:
    """Fails with its words unless it is content."""
    program = shutil.which("promtool")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("promtool is missing: install it (Debian, Ubuntu: apt-get install prometheus)")
    assert program, "promtool is missing"
    ran = subprocess.run([program, *words], input=given, capture_output=True, text=True)
    assert ran.returncode == 0 and not ran.stderr.strip(), ran.stdout + ran.stderr


def samples(text: str) -> Samples:
    """By name and the values of the labels, in the order of the labels' names."""
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
