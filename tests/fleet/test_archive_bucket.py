"""A fleet whose archive is a bucket: no shared disk, and a bucket that is away loses nothing."""

from __future__ import annotations

from pathlib import Path

from shoal.practice import Shop, running
from tests.fleet.running import Running
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import SECRET, S3Server

SMALL = Shop(hosts=1, categories=1, products=4, troubled=False)


def test_what_a_killed_worker_left_is_uploaded_when_the_bucket_is_back(tmp_path: Path, s3_server: S3Server) -> None:
    with FaultProxy(s3_server.port) as proxy, running(SMALL) as site:
        proxy.fail(Fault(503))
        url = f"s3://{s3_server.new_bucket()}/crawls"
        env = s3_server.env(proxy.endpoint) | {"SHOAL_ARCHIVE_URL": url}
        with Running(tmp_path, processes=1, env=env) as fleet:
            job = fleet.submit(site.url(), "--rate", "0", "--allow-private")
            figures = fleet.until_ended(job)
            assert figures["pages"] > 4
            fleet.workers[0].kill()
            spool = fleet.home / "spool"
            assert list(spool.rglob("*.warc.gz*"))
            worker = fleet.start_worker()
            noted = fleet.until(lambda: [one.archive_note for one in fleet.roster() if one.archive_note])
            assert noted[0].startswith(f"segments wait in the spool: {url}/") and "503" in noted[0]
            # The note may be that of the killed worker: the outage must also be known to the new one.
            fleet.until(lambda: "segments wait in the spool" in worker.said)
            proxy.mend()
            fleet.until(lambda: not list(spool.rglob("*.warc.gz*")))
            fleet.until(lambda: "the outage is over" in worker.said)
            assert worker.said.count("segments wait in the spool") == 1 and SECRET not in fleet.said
            elsewhere = {
                "SHOAL_HOME": str(tmp_path / "elsewhere"),
                "SHOAL_DATABASE_URL": f"sqlite:///{fleet.home}/shoal.db",
            }
            written = fleet("export", job, "--warc", "-o", "all.warc.gz", env=env | elsewhere)
            assert written.code == 0, written.err
            page = fleet("pages", job, "--json").lines[0]
            body = fleet("pages", job, "--body", str(page["fingerprint"]), env=env | elsewhere)
            assert body.code == 0 and "<html" in body.out
