import fcntl
from pathlib import Path
from typing import Any

import pytest
from psycopg.pq import Conninfo
from redis.asyncio.connection import URL_QUERY_ARGUMENT_PARSERS, BlockingConnectionPool

import shoal
from shoal.errors import UsageError
from shoal.settings import NAMES, UP_FILE, Settings, load, user_config_file
from shoal.settings.server_urls import PARAMETERS


def loaded(cwd: Path, flags: dict[str, str | None] | None = None, env: dict[str, str] | None = None) -> Settings:
    return load(flags or {}, env or {}, cwd, cwd / "user" / "config.toml")


def test_defaults_suit_a_person_on_a_laptop(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    assert settings == Settings(home=tmp_path / "shoal-data")
    assert settings.user_agent == f"shoal/{shoal.__version__}"
    assert not settings.allow_private
    assert {origin for _, _, origin in settings.rows()} == {"default"}


def test_a_stronger_source_wins_and_each_value_knows_its_origin(tmp_path: Path) -> None:
    user = tmp_path / "user" / "config.toml"
    user.parent.mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.shoal]\ncontact = "pyproject"\ntoken = "pyproject"\n')
    (tmp_path / "shoal.toml").write_text('contact = "file"\nhome = "file"\napi_url = "http://file"\n')
    user.write_text('contact = "user"\ntoken = "user"\narchive_url = "s3://user"\n')
    env = {"SHOAL_HOME": "env", "SHOAL_API_URL": "http://env", "SHOAL_SPIDERS": ""}
    settings = loaded(tmp_path, {"api_url": "http://flag", "home": None}, env)
    assert settings.api_url == "http://flag"
    assert settings.home == tmp_path / "env"
    assert (settings.contact, settings.token, settings.archive_url) == ("file", "pyproject", "s3://user")
    assert settings.origins == {
        "api_url": "flag --api",
        "home": "SHOAL_HOME",
        "contact": "shoal.toml",
        "token": "pyproject.toml",
        "archive_url": str(user),
    }


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    urls = {
        "redis_url": "redis://x",
        "broker_url": "amqp://x",
        "database_url": "postgresql://x/y",
        "archive_url": "s3://books/x",
    }
    words = {
        "url": "http://x",
        "s": "10",
        "rate": "10",
        "concurrency": "10",
        "processes": "10",
        "bytes": "5000000",
        "log": "json",
        "proxies": "10.0.0.5",
        "projects": "shop=/srv/shop",
    }
    given = {name: urls.get(name) or words.get(name.rpartition("_")[2], "on") for name in NAMES}
    env = {f"SHOAL_{name.upper()}": value for name, value in given.items() if name not in ("secrets", "proxies")}
    env["SHOAL_SECRET_DB"] = "hush"
    (tmp_path / "de.txt").write_text("http://proxy.example:3128")
    env["SHOAL_PROXIES_DE"] = "de.txt"
    assert set(loaded(tmp_path, env=env).origins) == set(NAMES)


@pytest.mark.parametrize("text", ["on", "TRUE", "yes", "1"])
def test_allow_private_is_on_in_any_usual_word(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, env={"SHOAL_ALLOW_PRIVATE": text}).allow_private
    assert not loaded(tmp_path, {"allow_private": "off"}, {"SHOAL_ALLOW_PRIVATE": text}).allow_private


def test_scrapy_projects_are_a_table_in_a_file_and_pairs_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text('[scrapy_projects]\nshop = "/srv/shop"\n')
    assert loaded(tmp_path).scrapy_projects == {"shop": "/srv/shop"}
    given = {"SHOAL_SCRAPY_PROJECTS": "shop=/srv/shop, news=news.settings"}
    found = loaded(tmp_path, env=given)
    assert found.scrapy_projects == {"shop": "/srv/shop", "news": "news.settings"}
    assert found.shown("scrapy_projects") == "shop=/srv/shop, news=news.settings"
    for wrong in ("shop", "shop=here/or/there", "=/srv/shop", "a/b=/srv/shop", "shop=/srv/shop,"):
        with pytest.raises(UsageError, match="SHOAL_SCRAPY_PROJECTS: scrapy_projects is"):
            loaded(tmp_path, env={"SHOAL_SCRAPY_PROJECTS": wrong})


def test_spiders_are_a_list_in_a_file_and_commas_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text('spiders = ["shop.books", "shop.toys"]')
    assert loaded(tmp_path).spiders == ("shop.books", "shop.toys")
    assert loaded(tmp_path, env={"SHOAL_SPIDERS": "a, b,"}).spiders == ("a", "b")


def test_a_pool_of_proxies_is_a_file_or_a_list_or_one_proxy(tmp_path: Path) -> None:
    (tmp_path / "de.txt").write_text("http://a.test:1\nhttp://b.test:1")
    (tmp_path / "shoal.toml").write_text('[proxies]\nde = "de.txt"\nus = ["http://c.test:1"]\nuk = "socks5://d.test:1"')
    pools = dict(loaded(tmp_path, env={"SHOAL_PROXIES_FR": "http://e.test:1"}).proxies)
    assert pools["de"].splitlines() == ["http://a.test:1", "http://b.test:1"]
    assert pools | {"de": ""} == {"de": "", "us": "http://c.test:1", "uk": "socks5://d.test:1", "fr": "http://e.test:1"}
    with pytest.raises(UsageError, match="fr cannot be read"):
        loaded(tmp_path, env={"SHOAL_PROXIES_FR": "fr.txt"})


def test_trusted_proxies_are_addresses_and_networks(tmp_path: Path) -> None:
    given = {"SHOAL_TRUSTED_PROXIES": "10.0.0.5, 2001:db8::/32"}
    assert loaded(tmp_path, env=given).trusted_proxies == ("10.0.0.5", "2001:db8::/32")


def test_the_contact_joins_the_user_agent_unless_one_is_given(tmp_path: Path) -> None:
    env = {"SHOAL_CONTACT": "https://example.com/bot"}
    assert loaded(tmp_path, env=env).user_agent == f"shoal/{shoal.__version__} (+https://example.com/bot)"
    assert loaded(tmp_path, {"user_agent": "own/1"}, env).user_agent == "own/1"


@pytest.mark.parametrize(
    ("redis_url", "broker_url"),
    [
        ("redis://h", "redis://h/1"),
        ("rediss://u:p@h:6380/2?socket_timeout=5&ssl_cert_reqs=none", "rediss://u:p@h:6380/3?ssl_cert_reqs=none"),
        ("redis://h?db=3", None),
        ("unix:///run/redis.sock", None),
    ],
)
def test_the_broker_is_the_database_after_the_frontiers(tmp_path: Path, redis_url: str, broker_url: str | None) -> None:
    assert loaded(tmp_path, env={"SHOAL_REDIS_URL": redis_url}).broker_url == broker_url


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    env = {
        "SHOAL_TOKEN": "shoal_hidden",
        "SHOAL_REDIS_URL": "redis://:hidden@h/0",
        "SHOAL_DATABASE_URL": "postgresql://ann:p/:hidden@h/db?sslpassword=hidden&sslsni=1",
        "SHOAL_API_URL": "http://h:80/",
    }
    settings = loaded(tmp_path, env=env)
    shown = {name: value for name, value, _ in settings.rows()}
    assert "hidden" not in str(shown) + repr(settings)
    assert shown["token"] == "***"
    assert shown["redis_url"] == "redis://:***@h/0"
    assert shown["database_url"] == "postgresql://ann:***@h/db?sslpassword=***&sslsni=1"
    assert shown["api_url"] == "http://h:80/"
    assert (shown["archive_url"], shown["contact"], shown["allow_private"]) == (
        "archive/ in the home",
        "–",
        "off",
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("hom = 1", ["shoal.toml", "'hom'", "home"]),
        ("home = 5", ["shoal.toml", "home", "5", "text"]),
        ('home = ""', ["shoal.toml", "home", "''"]),
        ('home = "~nobody-of-that-name/x"', ["home", "~nobody-of-that-name"]),
        ('allow_private = "maybe"', ["allow_private", "'maybe'", "on", "off"]),
        ("allow_private = 1", ["allow_private", "1"]),
        ("spiders = [1]", ["spiders", "[1]", "list"]),
        ('trusted_proxies = ["proxy.example"]', ["trusted_proxies", "proxy.example", "10.0.0.0/24"]),
        ('redis_url = "localhost"', ["redis_url", "'localhost'", "redis://"]),
        ('api_url = "127.0.0.1:8000"', ["api_url", "'127.0.0.1:8000'", "http://localhost:8000"]),
        ('redis_url = "redis://[bad"', ["redis_url", "redis://[bad"]),
        ('user_agent = "a\\r\\nb"', ["user_agent", "printable ASCII"]),
        ("home = ", ["shoal.toml", "not valid TOML"]),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_place_and_what_is_allowed(
    tmp_path: Path, text: str, named: list[str]
) -> None:
    (tmp_path / "shoal.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        loaded(tmp_path)
    assert [part for part in named if part not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("redis_url", "htp://:hidden@h/0"),
        ("redis_url", "redis://:hidden@/0"),
        ("redis_url", "redis:/:hidden@h/0"),
        ("redis_url", "redis://:hidden@h:port/0"),
        ("redis_url", "redis://:hid/den@h/0"),
        ("redis_url", "redis://h/frontier"),
        ("redis_url", "unix://"),
        ("broker_url", "://:hidden@h/1"),
        ("broker_url", "htp://:hidden@h/1"),
        ("broker_url", "amqp://"),
        ("broker_url", "sentinel://h:1;sentinel://:hidden@:2/1"),
        ("database_url", "mysql://ann:hidden@h/db"),
        ("database_url", "postgresql://ann:hidden@h:port/db"),
        ("database_url", "postgresql://ann:p@:/hidden@h/db"),
        ("database_url", "ann:hidden@h/db"),
        ("database_url", "sqlite://shoal.db"),
    ],
)
def test_a_server_that_no_program_could_reach_is_refused_without_its_password(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(
        UsageError, match=rf"SHOAL_{name.upper()}: {name} is '.*, which cannot be used. Allowed: "
    ) as no:
        loaded(tmp_path, env={f"SHOAL_{name.upper()}": value})
    assert "hidden" not in str(no.value) and "den@" not in str(no.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("redis_url", "rediss://ann:p%2Fw@[::1]:6380?ssl_cert_reqs=none"),
        ("redis_url", "unix://ann@/run/redis.sock?db=2"),
        ("broker_url", "sentinel://h:1;sentinel://g:2/1"),
        ("broker_url", "redis+socket:///run/redis.sock"),
        ("broker_url", "amqps://ann:p@h//"),
        ("database_url", "postgresql:///name"),
        ("database_url", "postgres://ann:p/w@h:5432/name?sslmode=require"),
        ("database_url", "sqlite:////var/shoal.db"),
    ],
)
def test_a_server_may_be_named_in_any_way_that_its_programs_know(tmp_path: Path, name: str, value: str) -> None:
    assert getattr(loaded(tmp_path, env={f"SHOAL_{name.upper()}": value}), name) == value


@pytest.mark.parametrize(
    ("name", "value", "parameter"),
    [
        ("redis_url", "redis://:hidden@h/0?foo=1", "foo"),
        ("redis_url", "redis://:hidden@h/0?db=1&ssl_cert_reqs=none", "ssl_cert_reqs"),
        ("redis_url", "unix:///run/redis.sock?socket_keepalive=1", "socket_keepalive"),
        ("broker_url", "redis://:hidden@h/1?db=1", "db"),
        ("broker_url", "sentinel://h:1;sentinel://:hidden@g:2/1?foo=1", "foo"),
        ("database_url", "postgresql://ann:hidden@h/db?foo=1", "foo"),
        ("database_url", "postgres://ann:hid?den@h/db?sslmode=require&foo", "foo"),
        ("database_url", "sqlite:////var/shoal.db?mode=ro", "mode"),
    ],
)
def test_a_parameter_that_a_servers_program_does_not_know_is_named_with_those_it_does(
    tmp_path: Path, name: str, value: str, parameter: str
) -> None:
    with pytest.raises(UsageError, match=rf"SHOAL_{name.upper()}: {name} has the parameter '{parameter}'") as no:
        loaded(tmp_path, env={f"SHOAL_{name.upper()}": value})
    assert "Remove it; there are: " in str(no.value) and "hidden" not in str(no.value)


def test_every_parameter_that_redis_py_reads_may_be_given_and_makes_a_connection(tmp_path: Path) -> None:
    flags = dict.fromkeys(("ssl_exclude_verify_flags", "ssl_include_verify_flags"), "VERIFY_DEFAULT")
    values = {"ssl_min_version": "771", "ssl_cert_reqs": "none", "protocol": "2", **flags}
    known = dict.fromkeys(PARAMETERS["redis_url"]["rediss"], "1") | values
    assert URL_QUERY_ARGUMENT_PARSERS.keys() <= known.keys()
    for scheme, server in (("unix", "/run/redis.sock"), ("redis", "h"), ("rediss", "h")):
        query = "&".join(f"{name}={known[name]}" for name in PARAMETERS["redis_url"][scheme])
        url = f"{scheme}://{server}?{query}"
        assert loaded(tmp_path, env={"SHOAL_REDIS_URL": url}).redis_url == url
        pool: Any = BlockingConnectionPool.from_url(url)
        pool.make_connection()


def test_every_parameter_that_postgresql_reads_may_be_given() -> None:
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    assert known <= set(PARAMETERS["database_url"]["postgresql"])


def test_a_bad_value_in_the_environment_or_a_flag_is_named_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SHOAL_ALLOW_PRIVATE: allow_private is 'perhaps'"):
        loaded(tmp_path, env={"SHOAL_ALLOW_PRIVATE": "perhaps"})
    with pytest.raises(UsageError, match="flag --allow-private: allow_private is 'perhaps'"):
        loaded(tmp_path, {"allow_private": "perhaps"})


def test_a_variable_that_is_no_setting_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SHOAL_CONCURENCY: 'CONCURENCY' is no setting of Shoal"):
        loaded(tmp_path, env={"SHOAL_CONCURENCY": "3"})


def test_an_option_of_a_job_among_the_settings_is_told_its_place(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text("rate = 30\n")
    with pytest.raises(
        UsageError, match=r"'rate' is no setting of Shoal. It is an option of a job: put it under \[crawl\]"
    ):
        loaded(tmp_path)


def test_what_kubernetes_says_of_a_service_called_shoal_is_none_of_ours(tmp_path: Path) -> None:
    names = (
        "SHOAL_SERVICE_HOST",
        "SHOAL_SERVICE_PORT_HTTP",
        "SHOAL_PORT",
        "SHOAL_API_PORT_8000_TCP",
        "SHOAL_API_PORT_8000_TCP_ADDR",
    )
    assert loaded(tmp_path, env=dict.fromkeys(names, "10.0.0.1")) == loaded(tmp_path)


def test_a_token_of_the_wrong_type_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text("token = 12345")
    with pytest.raises(UsageError) as refused:
        loaded(tmp_path)
    assert "12345" not in str(refused.value)


@pytest.mark.parametrize("content", [b"\xff", b"[tool]\nshoal = 3\nx = "])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        loaded(tmp_path)


def test_a_place_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    # As another user's home is, but for root too.
    beyond = tmp_path / ("x" * 300) / "config.toml"
    with pytest.raises(UsageError, match=r"config\.toml cannot be read"):
        load({}, {}, tmp_path, beyond)


def test_a_pyproject_of_somebody_else_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('tool = 3\n[project]\nname = "x"\n')
    assert loaded(tmp_path).origins == {}


def test_a_running_up_in_the_home_is_the_fleet_unless_another_is_named(tmp_path: Path) -> None:
    up = tmp_path / "shoal-data" / UP_FILE
    up.parent.mkdir()
    up.write_text('{"pid": 7, "settings": {"redis_url": "redis://:x@here:1/0", "database_url": "postgresql://db/x"}}')
    with up.open() as held:
        assert loaded(tmp_path).redis_url is None
        fcntl.flock(held, fcntl.LOCK_EX)
        found = loaded(tmp_path)
        assert (found.redis_url, found.broker_url) == ("redis://:x@here:1/0", "redis://:x@here:1/1")
        assert found.database_url == "postgresql://db/x" and found.origins["redis_url"] == "shoal up, process 7"
        named = loaded(tmp_path, env={"SHOAL_REDIS_URL": "redis://there/0"})
        assert (named.redis_url, named.database_url) == ("redis://there/0", None)
    assert loaded(tmp_path).redis_url is None


def test_the_user_config_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_config_file({"XDG_CONFIG_HOME": "/etc/xdg"}) == Path("/etc/xdg/shoal/config.toml")
    assert user_config_file({"XDG_CONFIG_HOME": "relative"}) == tmp_path / ".config/shoal/config.toml"
    assert user_config_file({}) == tmp_path / ".config/shoal/config.toml"
