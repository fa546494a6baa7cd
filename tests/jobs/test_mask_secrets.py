"""Whoever may look at a job is shown nothing that only its owner knows."""

from __future__ import annotations

from pathlib import Path

from shoal.jobs.mask_secrets import options_without_secrets, without_secrets
from shoal.model import JobSpec, ScrapyRun, Webhook
from shoal.model.request_options import HIDDEN
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store

SECRET = "sesame"


def test_a_job_is_shown_without_its_secrets_but_with_how_many_there_are(tmp_path: Path) -> None:
    spec = JobSpec(
        "books",
        headers={"Authorization": SECRET, "User-Agent": "Otter/2.0"},
        cookies=(f"session={SECRET}", f"other={SECRET}"),
        proxies=(f"http://ann:{SECRET}@proxy.example/",),
        credentials={"https://a.example": SECRET},
        rules=f'{{"start": "https://a.example/?key={SECRET}"}}',
        scrapy_run=ScrapyRun(
            "/srv/shop",
            {"password": SECRET, "category": "fiction"},
            {
                "API_KEY": SECRET,
                "MAIL_PASS": SECRET,
                "DATABASE": f"postgresql://ann:{SECRET}@db.example/shop",
                "LOG_LEVEL": "INFO",
            },
        ),
        webhook=Webhook(f"https://a.example/{SECRET}", SECRET),
    )
    with Store.open(tmp_path / "shoal.db") as store:
        create_job(store, "j1", lambda: spec, [], 1.0)
        shown = without_secrets(load_job(store, "j1"))
    assert SECRET not in repr(shown)
    assert shown.spec.headers == {"Authorization": HIDDEN, "User-Agent": "Otter/2.0"}
    assert shown.spec.cookies == (f"session={HIDDEN}", f"other={HIDDEN}") and len(shown.spec.proxies) == 1
    assert shown.spec.scrapy_run == ScrapyRun(
        "/srv/shop",
        {"password": HIDDEN, "category": "fiction"},
        {
            "API_KEY": HIDDEN,
            "MAIL_PASS": HIDDEN,
            "DATABASE": f"postgresql://ann:{HIDDEN}@db.example/shop",
            "LOG_LEVEL": "INFO",
        },
    )
    assert shown.spec.rules == HIDDEN and shown.spec.webhook == Webhook(HIDDEN, HIDDEN)


def test_options_are_shown_without_their_secrets_but_with_how_many_there_are() -> None:
    given = {"rate": 2, "header": [SECRET, SECRET], "webhook_secret": SECRET}
    assert options_without_secrets(given) == {"rate": 2, "header": [HIDDEN, HIDDEN], "webhook_secret": HIDDEN}


def test_arguments_of_a_spider_are_secrets_by_their_names() -> None:
    given = {"argument": ["api_key=k", "Token=t", "keyword=garden", "category=shoes"]}
    shown = [f"api_key={HIDDEN}", f"Token={HIDDEN}", "keyword=garden", "category=shoes"]
    assert options_without_secrets(given) == {"argument": shown}
