"""The clock's arithmetic in Lua against the one in Python, over random landings."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.frontier.adaptive_delay import Pace, gap_of, learn, slowdown_at
from shoal.frontier.redis.lua_library import assembled
from shoal.frontier.redis.serialize import landing_fields, packed
from shoal.frontier.redis.shard import TAG
from shoal.model import Landing
from tests.frontier.redis_server import RedisServer

TEACH = assembled(
    {
        "teach": """
local host = host_of('h')
for _, lesson in ipairs(args.lessons) do
  now = lesson.now
  learn(host, lesson.landing, lesson.may_block)
end
now = args.now
host.gap_s = gap_of(0.5, slowdown_at(host), args.crawl_delay_s)
return answer(host)
"""
    }
)

LANDINGS = st.builds(
    Landing,
    st.just(1),
    st.sampled_from([0.001, 0.02, 0.05, 0.3, 2.0, 45.0]) | st.floats(0, 60),
    st.sampled_from([200, 200, 200, 404, 429, 500, 503, None]),
    st.sampled_from([None, "dns", "connect", "tls", "timeout", "too_large"]),
    st.sampled_from([None, None, None, 3.0, 1e6]),
)
LESSONS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 1.0, 20.0, 59.0, 61.0, 400.0]), LANDINGS, st.booleans()))


@pytest.fixture(autouse=True)
def empty(redis_server: RedisServer) -> None:
    redis_server.client.flushall()
    redis_server.client.function_load(TEACH.source, replace=True)


@given(LESSONS, st.sampled_from([0.0, 10.0]))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lua_learns_what_python_learns(
    redis_server: RedisServer, lessons: list[tuple[float, Landing, bool]], crawl_delay_s: float
) -> None:
    now, pace, taught = 1_700_000_000.25, Pace(), []
    for seconds, landing, may_block in lessons:
        if landing.status is None and landing.failure is None:
            landing = dataclasses.replace(landing, failure="timeout")
        now += seconds
        learn(pace, landing, now, may_block=may_block)
        taught.append({"now": now, "landing": landing_fields(landing), "may_block": may_block})
    host = in_lua(redis_server, {"lessons": taught, "now": now + 30, "crawl_delay_s": crawl_delay_s})
    learnt = dataclasses.asdict(pace)
    assert host["block_reason"] == learnt.pop("block_reason")
    assert {name: host[name] for name in learnt} == pytest.approx(learnt, abs=1e-9, rel=1e-12)
    slowdown = slowdown_at(now + 30, pace.slowdown, pace.learnt_at)
    assert host["gap_s"] == pytest.approx(gap_of(0.5, slowdown, crawl_delay_s), abs=1e-9)


def in_lua(server: RedisServer, args: dict[str, Any]) -> dict[str, Any]:
    reply = server.client.fcall(TEACH.function("teach"), 1, TAG, packed(args))
    host: dict[str, Any] = msgpack.unpackb(reply)[1]
    return host
