"""scrapyd's own clients, unmodified, against the API of a fleet: deploy, schedule, watch, cancel, delete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shoal.practice import Shop
from shoal.practice import running as site_running
from shoal.practice.process import Running as Site
from shoal.store.fleet.tokens import TokenScope
from tests.control.eggs import egg_of_folder
from tests.control.live import make_tokens, serving
from tests.fleet.running import Running
from tests.scrapy.crawling import PROJECT

UPLOADS = {"SHOAL_SCRAPY_UPLOADS": "on"}


@dataclass
class Deployed:
    fleet: Running
    site: Site
    folder: Path
    """Of a project with a scrapy.cfg that names the server."""
    url: str
    token: str

    def run(self, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("scrapyd")
    (project := folder / "project").mkdir()
    with (
        site_running(Shop(hosts=1, categories=3, products=30, troubled=False), log=folder / "site.log") as site,
        Running(folder, workers=1, processes=1, env=UPLOADS) as fleet,
        serving({**fleet.environment, **UPLOADS}, folder) as (url, _),
    ):
        token = fleet.by_hand(make_tokens)[TokenScope.ADMIN]
        target = f"[deploy]\nurl = {url}/scrapyd/\nproject = shop\nusername = any\npassword = {token}\n"
        (project / "scrapy.cfg").write_text(f"[settings]\ndefault = shop.settings\n\n{target}")
        (project / "shop.egg").write_bytes(egg_of_folder(PROJECT, "shop.settings"))
        yield Deployed(fleet, site, project, url, token)


def test_scrapyd_client_deploys_and_runs_a_project(deployed: Deployed) -> None:
    from scrapyd_client.exceptions import ErrorResponse
    from scrapyd_client.pyclient import ScrapydClient

    ran = deployed.run("scrapyd_client.deploy", "--egg", "shop.egg", "--version", "1")
    assert ran.returncode == 0 and json.loads(ran.stdout)["status"] == "ok", (ran.stdout, ran.stderr)
    assert deployed.run("scrapyd_client", "projects").stdout == "shop\n"
    client = ScrapydClient(f"{deployed.url}/scrapyd", "any", deployed.token)
    assert client.projects() == ["shop"] and client.versions("shop") == ["1"]
    assert {"map", "rules"} <= set(client.spiders("shop"))
    site = deployed.site.url("").rstrip("/")
    given = [("site", site), ("setting", "DOWNLOAD_DELAY=1"), ("setting", "LOG_LEVEL=INFO"), ("jobid", "monday")]
    assert client.schedule("shop", "map", given) == "monday"
    deployed.fleet.until(lambda: client.jobs("shop")["running"])
    # The version is in use. Its process is killed, and the next one finds what it needs.
    assert client.delversion("shop", "1")["status"] == "ok" and client.projects() == []
    os.kill(_until_pid(deployed, client), 9)
    deployed.fleet.until(lambda: _pid(client))
    ended = deployed.fleet("hosts", f"127.0.0.1:{deployed.site.port}", "--rate", "100")
    assert ended.code == 0, ended.err
    deployed.fleet.until(lambda: client.status("monday")["currstate"] == "finished")
    (finished,) = client.jobs("shop")["finished"]
    import requests

    items = requests.get(deployed.url + finished["items_url"], auth=("any", deployed.token), timeout=60).text
    assert len({json.loads(line)["url"] for line in items.splitlines()}) == 30
    log = requests.get(deployed.url + finished["log_url"], auth=("any", deployed.token), timeout=60).text
    assert "Spider opened" in log
    with pytest.raises(ErrorResponse, match="project 'shop' not found"):
        client.schedule("shop", "map")


def test_python_scrapyd_api_works_with_its_own_paths(deployed: Deployed) -> None:
    from scrapyd_api import ScrapydAPI, ScrapydError

    api = ScrapydAPI(deployed.url, auth=("any", deployed.token))
    with (deployed.folder / "shop.egg").open("rb") as file:
        assert api.add_version("other", "1.0", file) == len(api.list_spiders("other"))
    assert "other" in api.list_projects() and api.list_versions("other") == ["1.0"]
    # Nobody answers there, so it runs until it is cancelled.
    settings = {"DOWNLOAD_DELAY": 30, "LOG_LEVEL": "INFO"}
    site = deployed.site.url("").rstrip("/")
    job = api.schedule("other", "rules", settings=settings, site=site)
    deployed.fleet.until(lambda: api.job_status("other", job) == "running")
    assert api.cancel("other", job) == "running"
    deployed.fleet.until(lambda: api.job_status("other", job) == "finished")
    assert api.delete_version("other", "1.0") and "other" not in api.list_projects()
    with pytest.raises(ScrapydError, match="project 'other' not found"):
        api.delete_project("other")
    with pytest.raises(ScrapydError, match="401"):
        ScrapydAPI(deployed.url, auth=("any", "wrong")).list_projects()


def _pid(client: Any) -> int:
    return next((int(job["pid"]) for job in client.jobs("shop")["running"]), 0)


def _until_pid(deployed: Deployed, client: Any) -> int:
    return deployed.fleet.until(lambda: _pid(client))
