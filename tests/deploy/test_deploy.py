"""What lies in deploy/ is taken by the programs that it is for, and names only what there is."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from shoal.cli import shoal as cli
from shoal.settings import NAMES
from tests.control.calling import Api
from tests.control.prometheus import promtool, samples
from tests.deploy.composed import ROOT, VARIABLES, services

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"


def dashboard() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((DEPLOY / "grafana" / "shoal.json").read_text())
    return read


def dashboard_queries() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def alert_queries() -> list[str]:
    return [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def test_promtool_takes_the_rules_and_the_configuration() -> None:
    promtool("check", "rules", str(RULES))
    promtool("check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))


def test_every_alert_fires_when_it_should_and_none_while_a_fleet_works(tmp_path: Path) -> None:
    cases = (Path(__file__).parent / "alerts.yml").read_text()
    (tmp_path / "cases.yml").write_text(cases.replace("RULES", str(RULES)))
    promtool("test", "rules", str(tmp_path / "cases.yml"))
    alerts = re.findall(r"alert: (\w+)", RULES.read_text())
    assert [name for name in alerts if name not in cases] == []


def test_dashboard_and_alerts_ask_only_for_metrics_that_there_are(api: Api) -> None:
    told = {name for name, _ in samples(api.client.get("/metrics").text)} | {"up", "shoal_attempts_failed_total"}
    for query in dashboard_queries() + alert_queries():
        asked = set(re.findall(r"\b(?:shoal_\w+|up)\b(?=[{\[\s)]|$)", query))
        assert asked and asked <= told, query


def test_promtool_takes_every_query_of_the_dashboard(tmp_path: Path) -> None:
    queries = [query.replace("$__rate_interval", "1m").replace("$lane", ".*") for query in dashboard_queries()]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "queries.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "queries.yml"))


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Where, and what is run there."""
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        yield path.name, shlex.split(_ini(path)["Service"]["ExecStart"])[1:]
    supervisord = _ini(DEPLOY / "supervisord.conf")
    for name in supervisord.sections():
        if name.startswith("program:"):
            yield name, shlex.split(supervisord[name]["command"])[1:]
    for name, service in services(VARIABLES).items():
        if "build" in service:
            yield name, service["command"]


def _ini(path: Path) -> configparser.ConfigParser:
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(path.read_text())
    return read


@pytest.mark.parametrize(("where", "words"), list(commands()))
def test_what_is_run_is_a_command_with_options_that_it_has(where: str, words: list[str]) -> None:
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(click.Context(cli), name)
    assert command is not None
    command.make_context(name, words)


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is missing: this machine has no systemd")
    units = sorted((DEPLOY / "systemd").glob("*.service"))
    for unit in units:
        # Whether a program is where it is to be installed is looked at too.
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/shoal/bin/shoal", sys.executable))
    words = [program, "verify", "--man=no", *(str(tmp_path / unit.name) for unit in units)]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert units and ran.returncode == 0 and not ran.stderr.strip(), ran.stderr


def test_units_run_what_supervisord_runs() -> None:
    run = list(commands())
    units = [words for where, words in run if where.endswith(".service")]
    assert units == [words for where, words in run if where.startswith("program:")]


def test_units_and_programs_leave_a_role_the_time_to_give_back_what_it_holds() -> None:
    for path in (DEPLOY / "systemd").glob("*.service"):
        unit = _ini(path)["Service"]
        assert unit["Restart"] == "always" and int(unit["TimeoutStopSec"]) >= 30 and unit["KillMode"] == "mixed"
    supervisord = _ini(DEPLOY / "supervisord.conf")
    for name in supervisord.sections()[1:]:
        assert int(supervisord[name]["stopwaitsecs"]) >= 20 and supervisord[name]["stopsignal"] == "TERM"


def test_the_settings_that_are_handed_out_exist() -> None:
    given = re.findall(r"^SHOAL_(\w+)=", (DEPLOY / "shoal.env").read_text(), flags=re.MULTILINE)
    for service in services(VARIABLES).values():
        given += [name.removeprefix("SHOAL_") for name in service.get("environment", {}) if name.startswith("SHOAL_")]
    assert {name.lower() for name in given} <= set(NAMES)
