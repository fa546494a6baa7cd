"""Hosts over HTTP: their clocks a part at a time, their robots.txt, and an operator's word."""

from __future__ import annotations

import time

from shoal.practice.request import Answer, Visit, not_found
from shoal.store.crawl.robots_files import RobotsRecord, claim_robots, disclaim_robots, save_robots
from shoal.store.fleet.tokens import TokenScope
from tests.cli.crawling import until
from tests.control.calling import Api, problem
from tests.control.live import Live
from tests.fleet.by_hand import FleetShell
from tests.fleet.hosting import hosting

NAMES = [f"{letter}.test" for letter in "gdbface"]


def begun(api: Api, fleet: FleetShell) -> None:
    """Every host was asked for something."""
    fleet.begin(api.submit(*(f"https://{name}/" for name in NAMES), scope="listed"))
    assert len(fleet.lease()) == len(NAMES)


def test_hosts_are_listed_by_name_in_parts(api: Api, fleet: FleetShell) -> None:
    begun(api, fleet)
    seen: list[str] = []
    path = "/hosts?limit=3"
    while True:
        told = api.get(path)
        assert len(told["hosts"]) <= 3
        seen += [host["host"] for host in told["hosts"]]
        if told["next"] is None:
            break
        path = f"/hosts?limit=3&cursor={told['next']}"
    assert seen == sorted(NAMES)
    assert api.get("/hosts?limit=7")["next"] is None


def test_a_host_shows_its_robots_txt(api: Api, fleet: FleetShell) -> None:
    begun(api, fleet)
    store = api.bridge.store
    texts = {
        "https://a.test": (200, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"),
        "https://b.test": (200, b"User-agent: *\nDisallow: /\n"),
        "http://b.test": (404, b"nothing here"),
        "https://c.test": (200, b"User-agent: shoal\nCrawl-delay: 4000\n"),
        "https://d.test": (200, b"User-agent: other\nDisallow: /\n"),
    }
    for origin, (status, body) in texts.items():
        save_robots(store, [RobotsRecord(origin, status, body, 1_000_000.0)])
    assert claim_robots(store, ["https://e.test"], time.time(), 60)
    disclaim_robots(store, ["https://e.test"])
    shown = {host["host"]: host["robots"] for host in api.get("/hosts")["hosts"]}
    assert shown["a.test"] == [
        {
            "origin": "https://a.test",
            "fetched_at": "1970-01-12T13:46:40.000Z",
            "says": "allows",
            "crawl_delay_s": 3.0,
        }
    ]
    assert [(one["origin"], one["says"]) for one in shown["b.test"]] == [
        ("https://b.test", "refuses"),
        ("http://b.test", "nothing"),
    ]
    assert [shown[name][0]["says"] for name in ("c.test", "d.test", "e.test")] == ["refuses", "allows", "unanswered"]
    assert shown["f.test"] == []


def test_a_host_override_changes_only_given_fields_and_returns_the_host(api: Api, fleet: FleetShell) -> None:
    begun(api, fleet)
    told = api("PATCH", "/hosts/A.test", {"rate": 0.5}).get_json()
    assert (told["host"], told["rate"], told["paused"], told["robots"]) == ("a.test", 0.5, False, [])
    told = api("PATCH", "/hosts/a.test", {"paused": True}).get_json()
    assert (told["rate"], told["paused"]) == (0.5, True)
    told = api("PATCH", "/hosts/a.test", {"rate": None, "paused": False}).get_json()
    assert (told["rate"], told["paused"]) == (None, False)


def test_an_unknown_host_is_404_with_similar_names(api: Api, fleet: FleetShell) -> None:
    assert "when a job" in problem(api("PATCH", "/hosts/a.test", {"paused": True}), 404)["detail"]
    begun(api, fleet)
    assert "a.test" in problem(api("PATCH", "/hosts/aa.test", {"paused": True}), 404)["detail"]
    assert all(not host["paused"] for host in api.get("/hosts")["hosts"])


def test_one_host_is_shown_by_its_name(api: Api, fleet: FleetShell) -> None:
    begun(api, fleet)
    told = api.get("/hosts/A.test", scope=TokenScope.READ)
    assert told in api.get("/hosts")["hosts"] and told["host"] == "a.test"
    assert "a.test" in problem(api("GET", "/hosts/aa.test"), 404)["detail"]


def test_workers_apply_a_host_override_at_their_next_lease(live: Live) -> None:
    visits: list[float] = []

    def answer(visit: Visit) -> Answer:
        if visit.path == "/robots.txt":
            return not_found(visit)
        visits.append(time.monotonic())
        links = (f"<a href='/{visit.path.strip('/') or 1}{n}'>" for n in range(3))
        return Answer(200, "".join(links).encode())

    with hosting(answer, hosts=1) as site:
        job = live.submit(site.url(), politeness={"rate": 20})
        host = site.url().split("/")[2]
        until(lambda: len(visits) > 5)
        assert live.call("PATCH", f"/hosts/{host}", {"paused": True})[0] == 200
        until(lambda: live.call("GET", f"/hosts/{host}")[1]["in_flight"] == 0)
        before = len(visits)
        time.sleep(1)
        assert len(visits) == before, "at the job's own rate there would be twenty more"
        assert live.call("PATCH", f"/hosts/{host}", {"paused": False, "rate": 4})[0] == 200
        until(lambda: len(visits) >= before + 5)
        assert visits[before + 4] - visits[before] > 0.5, "at the job's own rate it would be a fifth of a second"
        assert live.call("POST", f"/jobs/{job}/cancel")[0] == 200
        assert live.call("PATCH", f"/hosts/{host}", {"rate": None})[0] == 200
