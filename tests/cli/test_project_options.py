from __future__ import annotations

import pytest

from shoal.practice import Running
from tests.cli.conftest import Here, Shell


@pytest.fixture
def quick(shoal: Shell) -> Shell:
    """A project whose crawls of the practice site are quick."""
    (shoal.folder / "shoal.toml").write_text(
        '[crawl]\nallow_private = true\nrate = 0\nmax_pages = 3\nexclude = "/feed"\n'
    )
    return shoal


def test_options_of_the_project_hold_and_are_named(quick: Shell, site: Running) -> None:
    ran = quick("crawl", site.url())
    assert ran.err.splitlines()[0] == "options from shoal.toml: allow_private, rate, max_pages, exclude"
    assert "limited, 3 pages" in ran.err
    assert "host, not /feed" in quick("job", "last").out


def test_a_flag_wins_and_then_the_option_is_not_named(quick: Shell, site: Running) -> None:
    ran = quick("crawl", site.url(), "--max-pages", "2")
    assert "options from shoal.toml: allow_private, rate, exclude\n" in ran.err
    assert "limited, 2 pages" in ran.err


def test_an_option_of_the_spider_wins_too(quick: Shell, site: Running) -> None:
    rules = f"start: [{site.url()}]\nfollow: [a]\nitems: [{{fields: {{t: title}}}}]\noptions: {{max_pages: 2}}\n"
    (quick.folder / "shop.yaml").write_text(rules)
    assert quick("crawl", "shop.yaml", "--json").summary["pages"] == 2


def test_a_list_stays_a_list(quick: Shell, site: Running) -> None:
    with (quick.folder / "shoal.toml").open("a") as file:
        file.write('scope = "host"\n')
    (quick.folder / "urls.txt").write_text(site.url() + "\n")
    ran = quick("crawl", "@urls.txt")
    assert "scope listed" in ran.err and "done, 1 page " in ran.err


def test_the_file_is_found_above_up_to_the_repository(quick: Shell, site: Running) -> None:
    below = quick.folder / "spiders" / "shops"
    below.mkdir(parents=True)
    there, elsewhere = Here(below), {"HOME": "/nowhere"}

    def said() -> str:
        return there("crawl", site.url(), "--max-pages", "1", env=elsewhere).err

    assert "options from" not in said(), "anybody may write into /tmp"
    (quick.folder / ".git").mkdir()
    assert f"options from {quick.folder / 'shoal.toml'}: " in said()
    (quick.folder / "spiders" / ".git").mkdir()
    assert "options from" not in said()
    elsewhere["HOME"] = str(quick.folder)
    (quick.folder / "spiders" / ".git").rmdir()
    (quick.folder / ".git").rmdir()
    assert "options from" in said()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[crawl]\nmax_page = 3", "shoal.toml, [crawl]: there is no option 'max_page' (did you mean max_pages?)"),
        ("[crawl]\nmax-pages = 3", "did you mean max_pages?"),
        ("[crawl]\nwebhook_secret = 'x'", "there is no option 'webhook_secret'"),
        ("[crawl]\nmax_pages = 'many'", "max_pages: 'many' cannot be used"),
        ("[crawl]\nrate = -1", "rate is -1; give"),
        ("[crawl]\nscope = 'all'", "scope is 'all'; give one of host"),
        ("[crawl]\nheader = ['nonsense']", "header is 'nonsense'; give"),
        ("[crawl]\nca_file = 'none.pem'", "ca_file: cannot read"),
        ("crawl = 5", "must be a table of options"),
        ("[crawl", "is not valid TOML"),
    ],
)
def test_a_fault_names_the_file_and_the_way_out(shoal: Shell, table: str, said: str) -> None:
    (shoal.folder / "shoal.toml").write_text(table)
    ran = shoal("crawl", "http://127.0.0.1:1/")
    assert ran.code == 2 and said in ran.err
    assert not shoal.home.exists()


def test_text_is_read_as_on_the_command_line_and_shown_with_its_origin(shoal: Shell) -> None:
    path = shoal.folder / "shoal.toml"
    secret = 'cookie = "a=hush"\nargument = ["token=hush", "page=2"]\n'
    path.write_text(f'contact = "me@example.com"\n[crawl]\nmax_seconds = "10m"\nmax_bytes = "2M"\n{secret}')
    ran = shoal("config", "show", "--json")
    rows = {row["name"]: (row["value"], row["origin"]) for row in ran.lines}
    assert rows["contact"] == ("me@example.com", "shoal.toml")
    origin = str(path)
    assert rows["crawl.max_seconds"] == ("600.0", origin) and rows["crawl.max_bytes"] == ("2000000", origin)
    assert rows["crawl.argument"] == ("token=***, page=2", origin)
    assert rows["crawl.cookie"] == ("***", origin) and "hush" not in shoal("config", "show").out


def test_a_schedule_takes_them_too(shoal: Shell) -> None:
    (shoal.folder / "shoal.toml").write_text("[crawl]\nrate = 0.5\nmax_pages = 7\n")
    ran = shoal("schedule", "add", "news", "--cron", "@daily", "https://example.com", "--rate", "1", "--json")
    assert ran.lines[0]["job"]["options"] == {"name": "news", "refresh": True, "rate": 1.0, "max_pages": 7}
