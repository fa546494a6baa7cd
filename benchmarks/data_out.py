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


def data_out(pages: int, dataset_items: int, rounds: int) -> DataOut:
    site, place = WORK / "data", Place(("127.0.0.1",), free_port(), tls=False)
    items_site.build(site, pages, place.href)
    items = pages * items_site.PRODUCTS
    found = DataOut(pages, items, [], [], [], [], dataset_items, [])
    with fresh() as scratch, nginx(place, site, scratch) as extra, PostgresServer() as server, running_s3() as s3:
        crawls = _Crawls(place.url(0), pages, scratch, extra)
        for n in range(rounds):
            found.without_sink.append(crawls.run(f"plain-{n}", "--no-archive"))
            server.run(f"CREATE DATABASE round_{n}")
            url = {"SHOAL_SECRET_SINK": server.url(f"round_{n}")}
            found.with_sink.append(crawls.run(f"sink-{n}", "--no-archive", "--sink", "{secret:sink}", env=url))
            found.on_disk.append(crawls.run(f"disk-{n}"))
            bucket = {**s3.env(), "SHOAL_ARCHIVE_URL": f"s3://{s3.new_bucket()}/archive"}
            found.in_bucket.append(crawls.run(f"bucket-{n}", env=bucket))
        home = scratch / "plain-0"
        _multiply_items(home / "shoal.db", items, dataset_items)
        found.dataset.extend(_exported(home, scratch) for _ in range(rounds))
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
