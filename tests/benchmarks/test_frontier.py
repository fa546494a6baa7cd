"""The frontier's benchmark works, on few URLs: what it measures is not judged here."""

from __future__ import annotations

from pathlib import Path

from benchmarks.frontier_load import drive, fill, take_turns
from benchmarks.frontier_redis import redis_server
from benchmarks.frontier_rivals import scrapy_redis
from tests.frontier.redis_server import redis_program


async def test_it_fills_and_crawls_a_frontier(tmp_path: Path) -> None:
    redis_program()
    with redis_server(tmp_path, append_only=False) as server:
        filled = await fill(server, 4_000)
        assert filled.intsets
        assert 8 < filled.seen_bytes < 12
        assert 50 < filled.queued_bytes < 150
        driven = await drive(server, 4_000, 200, workers=2)
        assert driven.pages >= 200
        assert driven.redis_ms_per_page > 0


async def test_it_sees_gaps_and_turns(tmp_path: Path) -> None:
    redis_program()
    with redis_server(tmp_path, append_only=False) as server:
        turns = await take_turns(server, seconds=0.7)
        assert turns.smallest_gap_s >= turns.asked_gap_s
        assert set(turns.starts) == {"large", "small", "smaller"}


def test_the_rivals_layout_is_larger(tmp_path: Path) -> None:
    redis_program()
    with redis_server(tmp_path, append_only=False) as server:
        rival = scrapy_redis(server, 2_000)
        assert rival.seen_bytes > 60
        assert rival.queued_bytes > 300
