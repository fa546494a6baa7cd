"""What it costs to bring data out: a sink in PostgreSQL, an archive in a bucket, and a Parquet dataset."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import items_site
from benchmarks.contenders import HERE, SHOAL_PROGRAM, WORK, fresh, shoal_crawl
from benchmarks.measure import CannotMeasure, Run, environment, measure, wait
from benchmarks.servers import Place, free_port, nginx
from tests.object_store.s3_server import running_s3
from tests.store.postgres_server import PostgresServer

PAGES = 5_000
DATASET_ITEMS = 1_000_000
PAIRS = 3
"""In each round: what a sink or a bucket costs is less than two runs of one crawl differ by."""
SPIDER = HERE / "items_spider.py"


@dataclass(frozen=True, slots=True)
class Export:
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class DataOut:
    pages: int
    items: int
    without_sink: list[Run]
    with_sink: list[Run]
    on_disk: list[Run]
    """The archive."""
    in_bucket: list[Run]
    dataset_items: int
    dataset: list[Export]
    """Of so many items."""

    @property
    def sink_us_per_item(self) -> list[float]:
        pairs = zip(self.without_sink, self.with_sink, strict=True)
        return [1e6 * (to.cpu_s - of.cpu_s) / self.items for of, to in pairs]

    @property
    def bucket_ms_per_page(self) -> list[float]:
        pairs = zip(self.on_disk, self.in_bucket, strict=True)
        return [to.cpu_ms_per_page - of.cpu_ms_per_page for of, to in pairs]


def data_out(pages: int, dataset_items: int, rounds: int, pairs: int) -> DataOut:
    """`pairs`: so many crawls with a sink or bucket, and as many without."""
    site, place = WORK / "data", Place(("127.0.0.1",), free_port(), tls=False)
    items_site.build(site, pages, place.href)
    items = pages * items_site.PRODUCTS
    found = DataOut(pages, items, [], [], [], [], dataset_items, [])
    with fresh() as scratch, nginx(place, site, scratch) as extra, PostgresServer() as server, running_s3() as s3:
        crawls = _Crawls(place.url(0), pages, scratch, extra)
        for n in range(pairs):
            server.run(f"CREATE DATABASE round_{n}")
            url = {"SHOAL_SECRET_SINK": server.url(f"round_{n}")}
            bucket = {**s3.env(), "SHOAL_ARCHIVE_URL": f"s3://{s3.new_bucket()}/archive"}
            asked = [
                (found.without_sink, f"plain-{n}", ("--no-archive",), {}),
                (found.with_sink, f"sink-{n}", ("--no-archive", "--sink", "{secret:sink}"), url),
                (found.on_disk, f"disk-{n}", (), {}),
                (found.in_bucket, f"bucket-{n}", (), bucket),
            ]
            # Every second pair the other way round: a machine slows down or recovers while it is measured.
            for runs, home, words, env in asked if n % 2 == 0 else reversed(asked):
                runs.append(crawls.run(home, *words, env=env))
        first = scratch / "plain-0"
        _multiply_items(first / "shoal.db", items, dataset_items)
        found.dataset.extend(_exported(first, scratch) for _ in range(rounds))
    return found


@dataclass(frozen=True, slots=True)
class _Crawls:
    url: str
    pages: int
    scratch: Path
    extra: Mapping[str, str]

    def run(self, home: str, *words: str, env: Mapping[str, str] = {}) -> Run:
        command = [*SHOAL_PROGRAM, *shoal_crawl(self.scratch / home, str(SPIDER), *words, self.url)]
        expected = {"pages": self.pages, "items": self.pages * items_site.PRODUCTS}
        run = measure(command, expected, self.scratch, {**self.extra, **env})
        print(f"data: {home} {run.cpu_ms_per_page:.2f} ms of CPU per page", file=sys.stderr)
        return run


def _multiply_items(file: Path, items: int, wanted: int) -> None:
    """Copies the items of the job until there are so many."""
    db = sqlite3.connect(file)
    for n in range(1, wanted // items):
        db.execute(
            "INSERT INTO items SELECT job, page, ordinal + ?, type, key, data, token FROM items WHERE ordinal < ?",
            (n * items_site.PRODUCTS, items_site.PRODUCTS),
        )
    db.commit()
    db.close()


def _exported(home: Path, scratch: Path) -> Export:
    words = ["export", "last", "-o", f"{scratch / 'dataset'}/", "--overwrite", "--quiet", "--home", str(home)]
    child = subprocess.Popen([*SHOAL_PROGRAM, *words], cwd=scratch, env=environment({}), start_new_session=True)
    used = wait(child)
    if child.returncode:
        raise CannotMeasure(f"the export of the dataset ended with code {child.returncode}")
    return Export(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
