"""The sinks that docs/data.md shows, as they are written there, with servers on loopback in the place of the example's.

PostgreSQL, a bucket and a class of one's own have folders in `examples/`, which tests/test_examples.py follows.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from shoal.model.sink_url import check_sink
from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.test_sinks import exported, rows, write
from tests.fleet.receiving import receiving
from tests.frontier.redis_server import RedisServer

SHOWN: list[str] = re.findall(r'--sink "([^"]+)"', (Path(__file__).parents[2] / "docs" / "data.md").read_text())


def shown(start: str) -> str:
    (url,) = (url for url in SHOWN if url.startswith(start))
    return url


@pytest.mark.parametrize("url", SHOWN)
def test_every_sink_of_the_docs_is_one(url: str) -> None:
    parts = check_sink(url)
    assert parts is not None or url.startswith("{secret:")


def test_tables_queues_and_endpoints_of_the_docs_get_every_item(shoal: Shell, site: Running, tmp_path: Path) -> None:
    write(shoal, site)
    with RedisServer(tmp_path) as server, receiving() as receiver:
        queue, endpoint = urlsplit(server.url).netloc, urlsplit(receiver.url).netloc
        sinks = (
            shown("sqlite:"),
            shown("redis:").replace("queue.example", queue),
            # The example names the stream like the list.
            shown("rediss:").replace("rediss://:{secret:queue}@queue.example/0", f"redis://{queue}/1"),
            shown("https:").replace("https://api.example", f"http://{endpoint}"),
        )
        words = [word for sink in sinks for word in ("--sink", sink)]
        ran = shoal("crawl", "books.py", *words, env={"SHOAL_SECRET_HOOK": "hush"})
        assert ran.code == 0, ran.err
        listed = server.client.lrange("books", 0, -1)
        with Redis.from_url(f"redis://{queue}/1") as client:
            streamed = [fields[b"item"] for _, fields in client.xrange("books")]
    posted = [item for batch in receiver.told for item in batch["items"]]
    for got in (map(json.loads, listed), map(json.loads, streamed), posted):
        assert sorted((item["title"], item["price"]) for item in got) == exported(shoal)
    assert rows(shoal.folder / "shop.db") == exported(shoal)
