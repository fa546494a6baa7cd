"""The program that a worker of a fleet starts for each process of a Scrapy job.

It reads on its standard input which job that is, and in the database what to run: whoever can write to Redis must not
choose it. It runs the spider of the project unmodified on Shoal's scheduler, and tells by its exit code how the spider
ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings

from shoal.fleet.scrapy_packages import package_folders
from shoal.fleet.scrapy_process import ExitCode, is_folder
from shoal.model import ScrapyRun
from shoal.scrapy.managed_job import database_of, fetched, stored_spec
from shoal.scrapy.pipeline import Pipeline
from shoal.scrapy.uploaded_project import use

RECYCLE_S = 6 * 3600.0
MEMORY_MB = 2048
LOOK_EVERY_S = 1.0
STOP_WITHIN_S = 60.0
PIPELINE_ORDER = 900
"""After those of the project."""
_INTERRUPTIONS = ("shutdown", "memusage_exceeded")
_DOORS = ("scrapy.extensions.remote_control.RemoteControl", "scrapy.extensions.telnet.TelnetConsole")
_NOT_STARTED = "none"
_FAULTS = ("frontier_lost", _NOT_STARTED)


def main() -> int:
    asked = json.load(sys.stdin)
    spec = stored_spec(asked["job"], database_of(asked["shoal"]), asked["parent"])
    assert spec.scrapy_run is not None
    settings = project_settings(asked, spec.scrapy_run)
    try:
        spider = SpiderLoader.from_settings(settings.copy()).load(spec.scrapy)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return ExitCode.NO_SPIDER
    _use_shoal(settings, spider)
    crawler = (crawler_process := CrawlerProcess(settings)).create_crawler(spider)
    reasons: list[str] = []
    crawler.signals.connect(lambda reason: reasons.append(reason), signals.spider_closed, weak=False)
    _watch(asked["parent"], crawler.settings.getfloat("SHOAL_RECYCLE_S", RECYCLE_S))
    crawler_process.crawl(crawler, **spec.scrapy_run.arguments)
    crawler_process.start()
    return exit_code(_NOT_STARTED if not reasons or crawler_process.bootstrap_failed else reasons[0])


def project_settings(asked: dict[str, Any], run: ScrapyRun) -> Any:
    if run.package is not None:
        folders = package_folders(Path(asked["shoal"]["home"]))
        use(fetched(run.package, database_of(asked["shoal"]), folders, asked["parent"]))
    elif is_folder(run.project):
        os.chdir(run.project)
        # As Scrapy does: the modules of the project are beside its scrapy.cfg.
        sys.path.insert(0, run.project)
    else:
        sys.path.insert(0, str(Path.cwd()))
        os.environ["SCRAPY_SETTINGS_MODULE"] = run.project
    settings = get_project_settings()
    settings.set("MEMUSAGE_LIMIT_MB", MEMORY_MB, "default")
    settings.setdict(run.settings, "cmdline")
    settings.setdict({f"SHOAL_{name.upper()}": value for name, value in asked["shoal"].items()}, "cmdline")
    fixed = {
        "SHOAL_JOB": asked["job"],
        "JOBDIR": None,
        "SCHEDULER": "shoal.scrapy.Scheduler",
        "SCHEDULER_PERSIST": False,
        "SCHEDULER_FLUSH_ON_START": False,
        # Whoever reaches them could run code in the worker's account.
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        # The worker keeps and bounds what the process writes.
        "LOG_FILE": None,
    }
    settings.setdict(fixed, "cmdline")
    # Not imported either: the first of them loads a web server, in a tenth of the start and 10 MB.
    extensions = settings.getdict("EXTENSIONS_BASE")
    settings.set("EXTENSIONS_BASE", {name: extensions[name] for name in extensions if name not in _DOORS}, "cmdline")
    return settings


def _use_shoal(settings: Any, spider: Any) -> None:
    """Whatever the settings of the spider itself say."""
    own = settings.copy()
    spider.update_settings(own)
    if str(own["DUPEFILTER_CLASS"]).startswith("scrapy_redis."):
        settings.set("DUPEFILTER_CLASS", "shoal.scrapy.DupeFilter", "cmdline")
    pipelines = own.getdict("ITEM_PIPELINES")
    if Pipeline not in map(load_object, pipelines):
        settings.set("ITEM_PIPELINES", {**pipelines, Pipeline: PIPELINE_ORDER}, "cmdline")


def _watch(parent: int, recycle_s: float) -> None:
    ends_at = time.monotonic() + recycle_s

    def watch() -> None:
        while os.getppid() == parent and time.monotonic() < ends_at:
            time.sleep(LOOK_EVERY_S)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_WITHIN_S)
        # Nobody else would end a process whose spider does not stop.
        os._exit(ExitCode.INTERRUPTED)

    threading.Thread(target=watch, name="shoal-parent", daemon=True).start()


def exit_code(reason: str) -> int:
    """For the reason with which Scrapy closed the spider."""
    if reason in _FAULTS:
        return 1
    if reason in _INTERRUPTIONS:
        return ExitCode.INTERRUPTED
    return ExitCode.FINISHED if reason == "finished" else ExitCode.CLOSED


if __name__ == "__main__":
    sys.exit(main())
