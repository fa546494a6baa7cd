"""Sinks of a fleet's jobs: tend delivers, and another tend takes over."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.practice import Shop, running
from tests.fleet.running import Running

RULES = """\
name: books
start: [{url}]
options: {{rate: 10, allow_private: true, sinks: ["{sink}"]}}
follow: [{{css: "nav a, li.next a"}}, {{css: "h3 a", to: detail}}]
pages:
  detail:
    items: [{{name: Book, fields: {{title: {{css: h1}}}}}}]
"""


def test_a_fleet_delivers_every_item_though_tend_is_killed(tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=2, products=24, troubled=False)
    with running(shop) as site, Running(tmp_path, workers=1, processes=1) as fleet:
        address = f"redis://127.0.0.1:{fleet.redis.port}/0"
        fleet.env["SHOAL_SECRET_QUEUE"] = address
        fleet.tends[0].kill()
        fleet.start_tend()
        rules = tmp_path / "books.yaml"
        rules.write_text(RULES.format(url=site.url(), sink="{secret:queue}?list=books"))
        job = fleet.submit(str(rules))
        fleet.until(lambda: fleet.redis.client.llen("books"))
        fleet.tends[-1].kill()
        fleet.start_tend()
        fleet.until_ended(job)
        fleet.until(lambda: fleet.figures(job)["sinks"][0]["behind"] == 0)
        got = {json.loads(entry)["_id"] for entry in fleet.redis.client.lrange("books", 0, -1)}
        assert len(got) == fleet.figures(job)["items"] == 24
        assert "redis://" not in json.dumps(fleet.figures(job)), "a job never has the secret"


def test_a_fleet_refuses_sinks_that_only_one_machine_has(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, tends=0) as fleet:
        rules = tmp_path / "books.yaml"
        for sink, words in {
            "sqlite:///books.db": "a fleet has many machines",
            "os.path:Sink": "no module in SHOAL_SPIDERS",
        }.items():
            rules.write_text(RULES.format(url="https://x.test/", sink=sink))
            ran = fleet("submit", str(rules))
            assert (ran.code, words in ran.err) == (2, True), ran.err


def test_a_sink_that_cannot_work_is_named_and_the_job_ends(tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=1, products=2, troubled=False)
    with running(shop) as site, Running(tmp_path, workers=1, processes=1) as fleet:
        rules = tmp_path / "books.yaml"
        rules.write_text(RULES.format(url=site.url(), sink="{secret:unknown}?list=books"))
        job = fleet.submit(str(rules))
        assert fleet.until_ended(job)["state"] == "done"
        fault = fleet.until(lambda: fleet.figures(job)["sinks"][0]["fault"])
        assert "there is no secret unknown: set SHOAL_SECRET_UNKNOWN" in fault
        assert "done, sink behind by 2" in fleet("job", job).out
