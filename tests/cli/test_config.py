from __future__ import annotations

import pytest

from shoal.settings import NAMES
from tests.cli.conftest import Shell


def test_each_setting_is_shown_with_its_origin(shoal: Shell) -> None:
    (shoal.folder / "shoal.toml").write_text('contact = "ops@example.com"\n')
    ran = shoal("config", "show", "--home", "elsewhere", env={"SHOAL_ALLOW_PRIVATE": "on"})
    assert ran.code == 0
    rows = {line.split()[0]: line for line in ran.out.splitlines()}
    assert tuple(rows) == NAMES
    assert "flag --home" in rows["home"] and rows["home"].endswith("/elsewhere")
    assert "SHOAL_ALLOW_PRIVATE" in rows["allow_private"] and rows["allow_private"].endswith("on")
    assert "shoal.toml" in rows["contact"] and rows["contact"].endswith("ops@example.com")
    assert not (shoal.folder / "elsewhere").exists(), "looking must not make a home"


def test_secrets_are_masked_in_words_and_in_json(shoal: Shell) -> None:
    secret = {"SHOAL_TOKEN": "shoal_hush", "SHOAL_REDIS_URL": "redis://ann:hush@127.0.0.1:6379/0"}
    rows = shoal("config", "show", "--json", env=secret).lines
    by_name = {row["name"]: row for row in rows}
    assert by_name["token"] == {"name": "token", "value": "***", "origin": "SHOAL_TOKEN"}
    assert by_name["contact"]["value"] is None, "a program need not know how we show what is not set"
    assert by_name["redis_url"]["value"] == "redis://ann:***@127.0.0.1:6379/0"
    assert "hush" not in shoal("config", "show", env=secret).out


def test_a_setting_that_cannot_be_used_is_a_usage_error(shoal: Shell) -> None:
    ran = shoal("config", "show", env={"SHOAL_ALLOW_PRIVATE": "perhaps"})
    assert ran.code == 2
    assert "SHOAL_ALLOW_PRIVATE" in ran.err and "perhaps" in ran.err


@pytest.mark.parametrize("program", ["worker", "tend", "api", "up", "jobs"])
@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("SHOAL_REDIS_URL", "redis://:hush@/0"),
        ("SHOAL_BROKER_URL", "htp://:hush@127.0.0.1/1"),
        ("SHOAL_DATABASE_URL", "mysql://ann:hush@127.0.0.1/shoal"),
    ],
)
def test_an_unreachable_server_is_a_one_line_error_in_every_program(
    shoal: Shell, program: str, name: str, url: str
) -> None:
    ran = shoal(program, env={"SHOAL_REDIS_URL": "redis://127.0.0.1:1/0", name: url})
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"error: {name}: ") and url.replace("hush", "***") in ran.err


@pytest.mark.parametrize("program", ["worker", "up"])
def test_an_unknown_redis_parameter_is_a_one_line_error(shoal: Shell, program: str) -> None:
    ran = shoal(program, env={"SHOAL_REDIS_URL": "redis://127.0.0.1:1/0?foo=1"})
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("error: SHOAL_REDIS_URL: redis_url has the parameter 'foo'") and "Remove it" in ran.err


@pytest.mark.parametrize("program", ["worker", "tend", "up"])
def test_a_redis_url_without_a_derivable_broker_names_the_setting(shoal: Shell, program: str) -> None:
    ran = shoal(program, env={"SHOAL_REDIS_URL": "unix:///run/redis.sock"})
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "unix:///run/redis.sock" in ran.err and "Set SHOAL_BROKER_URL" in ran.err
