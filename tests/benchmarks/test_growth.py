"""The growing sites, and small runs of growth and soak."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.growth import QUICK, SHAPES, WHOLE, Growth, Stages, grow
from benchmarks.growth_report import growth_lines, soak_lines
from benchmarks.growth_site import serving
from benchmarks.soak import links, soak

SMALL = Stages(few=1_600, many=8_000, window=300, settling=200)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stages", [WHOLE, QUICK, SMALL])
def test_stages_bring_the_known_urls_they_promise(stages: Stages, shape: str) -> None:
    known, at = {0}, {}
    for number in range(stages.end):
        if number in (stages.at_few, stages.growing, stages.at_many):
            at[number] = len(known)
        found = stages.links(number, SHAPES[shape])
        assert len(found) == 72
        known.update(found)
    assert at == {stages.at_few: stages.few, stages.growing: stages.few, stages.at_many: stages.many}
    assert known == set(range(stages.many))


def test_links_that_repeat_locally_do() -> None:
    local, far = (
        sum(len(set(shape(n, 1_000_000)) & set(shape(n + 1, 1_000_000))) for n in range(20_000, 20_050))
        for shape in SHAPES.values()
    )
    assert local > 40 * 50
    assert far < 50


def test_every_page_of_the_soak_brings_five_new_links() -> None:
    known = {0}
    for number in range(2_000):
        before = len(known)
        known.update(links(number))
        assert len(links(number)) == 72
        assert number < 10 or len(known) - before == 5
    assert known == set(range(max(known) + 1))


def test_site_serves_pages_of_22_kb_with_the_links_of_their_number() -> None:
    with serving(lambda number: range(number, number + 72)) as site:
        with urlopen(site.front_page.replace("000000", "000123")) as answer:
            page = answer.read().decode()
        with urlopen(site.front_page) as answer:
            answer.read()
        assert site.served == 2
        assert site.fetched == {123: 1, 0: 1}
    assert len(page) == pytest.approx(22_000, rel=0.05)
    assert re.findall(r'href="/(\d+)\.html"', page) == [f"{number:06}" for number in range(123, 195)]


def test_growth_measures_both_windows_and_every_start(tmp_path: Path) -> None:
    grown = grow(SMALL, "lead anywhere", tmp_path)
    assert grown.found == SMALL.many
    assert grown.queued > SMALL.many / 2
    assert all(window.pages_per_s > 0 for window in (grown.at_few, grown.growing, grown.at_many))
    assert min(grown.start_s, grown.resume_s, grown.start_beside_s) > 0
    assert grown.peak_bytes > 30_000_000
    text = "\n".join(growth_lines(Growth(SMALL, [grown])))
    assert "| lead anywhere | 8,000 | " in text


def test_soak_survives_its_kill_and_looks_at_memory_all_the_while(tmp_path: Path) -> None:
    soaked = soak(1_000, tmp_path)
    assert soaked.killed_at >= 50
    assert all(a.pages < b.pages for a, b in pairwise(soaked.looks))
    assert soaked.early.pages >= 100
    assert soaked.looks[-1].pages >= 900
    assert all(look.memory_bytes > 30_000_000 for look in soaked.looks)
    assert f"- Fetched twice: {soaked.fetched_twice} pages" in "\n".join(soak_lines(soaked))
