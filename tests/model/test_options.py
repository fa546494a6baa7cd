"""Every option of the table is complete: it reaches the job from each place that takes it, with one default and one
bound. An option that is added to the table without its field in JobSpec, or of a kind that some place does not know,
fails here."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import certifi
import click
import pytest
from pydantic import ValidationError

from shoal import Page, spider
from shoal.cli.commands.crawl import crawl
from shoal.control.models.job_patch import JobChange
from shoal.control.models.jobs import JobOrder
from shoal.errors import UsageError
from shoal.fetch.tls_policy import read_certificates
from shoal.fleet.submit import options_for_admins
from shoal.jobs.mask_secrets import options_without_secrets
from shoal.model import MOST_NOFOLLOW_PAGES, JobSpec, Limits
from shoal.model.option import FILES, Admin, Bound, Kind, Option
from shoal.model.options import DEFAULTS, FIELDS, OPTIONS, check_options, check_sent, from_fields, to_fields
from shoal.model.request_options import HIDDEN
from shoal.spiders import rules
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.input_sources import given_urls
from shoal.spiders.rules.keys import OPTIONS as RULES_KEYS

URL = "https://example.com/"
CERTIFICATE = read_certificates(Path(certifi.where()).read_text()[:10_000])
TEXTS = {
    Kind.PATTERN: "/books/",
    Kind.HEADER: "X-Team: crawl",
    Kind.COOKIE: "a=1",
    Kind.ARGUMENT: "category=garden",
    Kind.PROXY: "http://proxy.example:3128",
    Kind.PROXY_POOL: "europe",
    Kind.REGION: "de",
    Kind.PARAM: "id",
    Kind.TRAP: "calendar",
    Kind.SHAPE: "?action=edit",
    Kind.FILE_TYPE: "html",
    Kind.FORMAT: "metadata",
    Kind.SINK: "sqlite:///items.db",
    Kind.CSS: ".item",
    Kind.STEP: "click:#more",
    Kind.VIEWPORT: "mobile",
    Kind.LOCALE: "de-CH",
    Kind.TIME_ZONE: "Asia/Tokyo",
    Kind.NAME: "books",
    Kind.URL: "https://hooks.example/shoal",
    Kind.SECRET: "hush",
    Kind.CERTIFICATES: CERTIFICATE,
    Kind.COOKIES: "example.com\tFALSE\t/\tTRUE\t0\tsid\thush",
}
ALL = pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
NUMBERS = pytest.mark.parametrize(
    ("option", "value"),
    [
        pytest.param(option, value, id=f"{option.name}={value}")
        for option in OPTIONS.values()
        if option.bound is not None
        for value in (option.bound.least - 1, option.bound.most + 1)
    ],
)


def example(option: Option) -> Any:
    """A value that is not the default."""
    if option.kind is Kind.FLAG:
        return True
    if option.bound is not None:
        return 1 if option.default != 1 else 2
    if option.choices:
        return next(str(choice) for choice in option.choices if choice != option.default)
    return [TEXTS[option.kind]] if option.many else TEXTS[option.kind]


def given(option: Option) -> dict[str, Any]:
    # A secret alone signs nothing.
    needed = {"webhook": TEXTS[Kind.URL]} if option.name == "webhook_secret" else {}
    return {**needed, option.name: example(option)}


@spider()
def shop(page: Page, category: str = "") -> None:
    """Takes the argument of the example."""


def spec_of(options: dict[str, Any]) -> JobSpec:
    draft = JobDraft.of(options, shop if options.keys() & {"argument", "sinks"} else None, allow_private=False)
    return draft.spec(given_urls([URL], draft.params, draft.group), None)


def at(spec: JobSpec, field: str) -> Any:
    return None if field.startswith("webhook.") and spec.webhook is None else attrgetter(field)(spec)


def flag_of(option: Option) -> click.Option:
    (found,) = (param for param in crawl.params if option.flag in param.opts)
    assert isinstance(found, click.Option)
    return found


@ALL
def test_it_reaches_the_spec_and_comes_back_from_the_store(option: Option) -> None:
    spec = spec_of(given(option))
    assert at(spec, option.field) != at(spec_of({}), option.field)
    assert JobSpec.from_json(spec.to_json()) == spec


@ALL
def test_the_spec_has_the_default_of_the_table(option: Option) -> None:
    spec = JobSpec(name=DEFAULTS["name"])
    assert at(spec, option.field) == ({} if option.kind in (Kind.HEADER, Kind.ARGUMENT) else DEFAULTS[option.field])


@ALL
def test_the_api_takes_it_and_leads_to_the_same_options(option: Option) -> None:
    body = json.dumps({"urls": [URL], **to_fields(given(option))})
    options = JobOrder.model_validate_json(body).options()
    assert json.loads(json.dumps(options)) == given(option)


@ALL
def test_its_field_and_its_value_are_two_ways_to_say_the_same(option: Option) -> None:
    assert json.loads(json.dumps(from_fields(to_fields(given(option))))) == given(option)


@ALL
def test_the_api_takes_it_by_its_name(option: Option) -> None:
    options = JobOrder.model_validate_json(json.dumps({"urls": [URL], **given(option)})).options()
    assert json.loads(json.dumps(options)) == given(option)


@ALL
def test_the_api_refuses_it_by_both_names(option: Option) -> None:
    fields = to_fields(given(option))
    if option.name == option.path[0]:
        return
    with pytest.raises(ValidationError, match=f"{option.name} and {option.field} are the same option"):
        JobOrder.model_validate_json(json.dumps({"urls": [URL], **fields, option.name: example(option)}))


def test_a_change_takes_exactly_what_can_change() -> None:
    schema = JobChange.model_json_schema()
    groups = {"limits": "LimitsChange", "politeness": "PaceChange"}
    fields = {field for field in schema["properties"] if field not in groups}
    inner = {f"{group}.{field}" for group, name in groups.items() for field in schema["$defs"][name]["properties"]}
    can_change = {field: option for field, option in FIELDS.items() if option.can_change}
    assert fields | inner == can_change.keys() | {option.name for option in can_change.values()}


@ALL
def test_a_change_of_it_changes_the_spec(option: Option) -> None:
    change = json.dumps(to_fields({option.name: example(option)}))
    if not option.can_change:
        with pytest.raises(ValidationError):
            JobChange.model_validate_json(change)
        return
    for text in (change, json.dumps(given(option))):
        changed = JobChange.model_validate_json(text).applied(JobSpec("x"))
        assert at(changed, option.field) == at(spec_of(given(option)), option.field)


@ALL
def test_the_command_line_has_it(option: Option, tmp_path: Path) -> None:
    if not option.on_command_line:
        assert not [param for param in crawl.params if option.flag in param.opts]
        return
    flag = flag_of(option)
    assert (flag.name, flag.multiple, flag.is_flag) == (option.name, option.many, option.kind is Kind.FLAG)
    assert option.many or flag.get_default(click.Context(crawl)) == option.default
    assert flag.type_cast_value(click.Context(crawl), _typed(option, tmp_path)) == _parsed(option)


def _typed(option: Option, folder: Path) -> Any:
    if option.kind in FILES:
        (folder / "file").write_text(example(option))
        return str(folder / "file")
    return example(option) if option.many or option.kind is Kind.FLAG else str(example(option))


def _parsed(option: Option) -> Any:
    return tuple(example(option)) if option.many else example(option)


def test_a_crawl_of_a_site_that_ignores_nofollow_has_an_end() -> None:
    bold = {"ignore_nofollow": True}
    bounded = Limits(pages_per_host=MOST_NOFOLLOW_PAGES)
    assert spec_of(bold).limits == bounded and spec_of({}).limits == Limits()
    assert spec_of({**bold, "max_assets": 5}).limits == replace(bounded, assets=5), "assets may end, and the pages not"
    for other in ({"max_pages": 10**6}, {"max_depth": 3}):
        assert spec_of({**bold, **other}).limits.pages_per_host is None
    assert spec_of({**bold, "scope": "listed"}).limits == Limits(), "a list has an end"
    by_spider = JobDraft.of(bold, shop, allow_private=False)
    assert by_spider.spec(given_urls([URL], by_spider.params, by_spider.group), None).limits == Limits()


@ALL
def test_rules_take_what_a_spider_may_set(option: Option) -> None:
    text = json.dumps({"start": URL, "options": {option.name: example(option)}})
    if option.for_spiders:
        spider = rules.from_json(text)
        draft = JobDraft.of({}, spider, allow_private=False)
        spec = draft.spec(given_urls([URL], draft.params, draft.group), None)
        assert at(spec, option.field) == at(spec_of(given(option)), option.field)
        assert RULES_KEYS.keys[option.name].says == option.help
    else:
        with pytest.raises(UsageError, match=option.name):
            rules.from_json(text)


@NUMBERS
def test_a_bound_holds_at_every_entry(option: Option, value: float) -> None:
    with pytest.raises(UsageError, match=option.name):
        JobDraft.of({option.name: value}, None, allow_private=False)
    with pytest.raises(ValidationError):
        JobOrder.model_validate({"urls": (URL,), **to_fields({option.name: value})})
    if option.on_command_line:
        with pytest.raises(click.BadParameter):
            flag_of(option).type_cast_value(click.Context(crawl), str(value))
    if option.for_spiders:
        with pytest.raises(UsageError, match=option.name):
            rules.from_json(json.dumps({"start": URL, "options": {option.name: value}}))
    if option.can_change:
        with pytest.raises(ValidationError):
            JobChange.model_validate(to_fields({option.name: value}))


@ALL
def test_only_an_admin_may_set_what_the_table_says(option: Option) -> None:
    needing = options_for_admins(given(option), None, max_rate=10)
    expected = {Admin.ANY: [option.field], Admin.EXPRESS: ["lane express"]}
    assert needing == expected.get(option.admin or Admin.FAST, [])
    in_rules = {"options": given(option)}
    assert options_for_admins({}, in_rules, max_rate=10) == needing


@pytest.mark.parametrize(
    ("text", "why"), [(None, "No such file"), ("hello", "ca_file has no certificates that can be read")]
)
def test_a_file_without_certificates_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    with pytest.raises(click.BadParameter, match=why):
        flag_of(OPTIONS["ca_file"]).type_cast_value(click.Context(crawl), str(tmp_path / "ca.pem"))


def test_pages_larger_than_usual_need_an_admin() -> None:
    assert options_for_admins({"max_page_bytes": 10_000_000}, None, max_rate=10) == []
    assert options_for_admins({"max_page_bytes": 10_000_001}, None, max_rate=10) == ["max_page_bytes above 10000000"]


@pytest.mark.parametrize(("rate", "needs"), [(0, True), (10, False), (10.5, True)])
def test_a_rate_above_the_operators_needs_an_admin(rate: float, needs: bool) -> None:
    assert bool(options_for_admins({"rate": rate}, None, max_rate=10)) is needs


@ALL
def test_a_secret_is_hidden(option: Option) -> None:
    shown = options_without_secrets({option.name: example(option)})[option.name]
    assert (shown in (HIDDEN, [HIDDEN])) is option.secret


@ALL
def test_its_help_is_a_sentence(option: Option) -> None:
    assert option.help[0].isupper() and option.help.endswith(".") and len(option.help) <= 130


def test_every_fault_is_named_with_its_value_and_what_to_give() -> None:
    with pytest.raises(UsageError) as refused:
        check_options({"rate": "fast", "lane": "quick", "include": "/a/", "colour": 1, "header": ["a"], "sitemaps": 1})
    assert str(refused.value).splitlines()[:3] == [
        "rate is 'fast'; give 0 or a number from 0.0001 to 10,000",
        "lane is 'quick'; give one of express, batch, slow",
        "include is '/a/'; give a list, each part text that occurs in a URL, with * for anything, or re: and a "
        "regular expression",
    ]
    assert "there is no option 'colour'" in str(refused.value).splitlines()[3]
    assert str(refused.value).splitlines()[4:] == [
        "header is 'a'; give NAME:VALUE, on one line",
        "sitemaps is 1; give true or false",
    ]


@pytest.mark.parametrize("include", [["x" * 300_000], ["x"] * 20_001])
def test_options_of_another_program_are_bounded(include: list[str]) -> None:
    with pytest.raises(UsageError, match="at most"):
        check_sent({"include": include})


def test_null_lifts_no_limit_that_a_spider_has() -> None:
    with pytest.raises(UsageError, match="max_pages is None"):
        check_sent({"max_pages": None})


@pytest.mark.parametrize("value", ["calendar,depth", "nonsense"])
def test_the_api_takes_one_trap_rule_at_a_time(value: str) -> None:
    with pytest.raises(ValidationError, match="give one of"):
        JobOrder.model_validate_json(json.dumps({"urls": [URL], "allow_traps": [value]}))


def test_a_job_that_was_stored_before_an_option_existed_loads() -> None:
    stored = json.loads(JobSpec("x").to_json())
    for field in ("allow_traps", "max_change", "archive"):
        del stored[field]
    assert JobSpec.from_json(json.dumps(stored)) == JobSpec("x")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None])
def test_what_is_not_a_number_is_within_no_bounds(value: Any) -> None:
    assert not Bound(0, 10, whole=False).holds(value)


@pytest.mark.parametrize(
    "proxy",
    ["http://proxy.example:3128", "socks5h://ann:p:w@d@10.0.0.5:65535/", "https://[::1]:1", "socks4://proxy.example"],
)
def test_a_proxy_is_taken(proxy: str) -> None:
    assert OPTIONS["proxy"].fault([proxy]) is None


@pytest.mark.parametrize(
    "proxy", ["http://h:0", "http://h:65536", "http://h:99999", "http://h:abc", "http://h:", "http://:80", "h:80"]
)
def test_a_proxy_with_a_bad_port_or_host_is_refused(proxy: str) -> None:
    assert "give http://HOST:PORT" in str(OPTIONS["proxy"].fault([proxy]))


def test_a_spider_or_rules_with_the_name_of_the_newest_job_are_refused() -> None:
    @spider(URL)
    def last(page: Page) -> None: ...

    for made in (last, rules.from_json(json.dumps({"start": URL, "name": "last"}))):
        draft = JobDraft.of({}, made, allow_private=False)
        with pytest.raises(UsageError, match="a job cannot have the name last: "):
            draft.spec(given_urls([URL], draft.params, draft.group), None)
