"""Masks the secrets of a job, or of its options, for users who may read jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.model import JobSpec, ScrapyRun, Webhook
from shoal.model.options import OPTIONS
from shoal.model.request_options import HIDDEN
from shoal.store.jobs import Job
from shoal.telemetry.mask_secrets import is_secret, masked


def without_secrets(job: Job) -> Job:
    """Still shows which headers, cookies, proxies and rules exist. Masks rules, which may contain any secret."""
    spec = job.spec
    shown = replace(
        spec,
        headers={name: _shown_header(name, value) for name, value in spec.headers.items()},
        cookies=tuple(f"{cookie.partition('=')[0]}={HIDDEN}" for cookie in spec.cookies),
        cookie_file=_hidden(spec.cookie_file),
        proxies=(HIDDEN,) * len(spec.proxies),
        proxy_pool=_shown_pool(spec.proxy_pool),
        credentials=dict.fromkeys(spec.credentials, HIDDEN),
        arguments=shown_arguments(spec),
        scrapy_run=_shown_scrapy_run(spec.scrapy_run),
        rules=_hidden(spec.rules),
        rendering=replace(spec.rendering, steps=(HIDDEN,) * len(spec.rendering.steps)),
        webhook=_shown_webhook(spec),
    )
    return replace(job, spec=shown, extracted_by=_hidden(job.extracted_by))


def options_without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Takes options by their flag names; still shows which are set, and how many values they have."""
    shown = {name: _masked(value) if OPTIONS[name].secret else value for name, value in options.items()}
    if "argument" in shown:
        shown["argument"] = [_shown_argument(text) for text in shown["argument"]]
    return shown


def shown_arguments(spec: JobSpec) -> dict[str, str | list[str]]:
    """Arguments of a spider, without those that are secrets by their name."""
    return {name: HIDDEN if is_secret(name) else value for name, value in spec.arguments.items()}


def _shown_scrapy_run(run: ScrapyRun | None) -> ScrapyRun | None:
    if run is None:
        return None
    return replace(run, arguments=_shown_values(run.arguments), settings=_shown_values(run.settings))


def _shown_values(values: Mapping[str, str]) -> dict[str, str]:
    """Settings of Scrapy are often URLs, such as that of a database."""
    return {name: HIDDEN if _is_secret_of_scrapy(name) else masked(value) for name, value in values.items()}


def _is_secret_of_scrapy(name: str) -> bool:
    """Scrapy names passwords MAIL_PASS and http_pass."""
    return is_secret(name) or name.lower().endswith("pass")


def _shown_argument(text: str) -> str:
    name = text.partition("=")[0]
    return f"{name}={HIDDEN}" if is_secret(name) else text


def _masked(value: str | Sequence[str]) -> str | list[str]:
    return HIDDEN if isinstance(value, str) else [HIDDEN] * len(value)


def _shown_header(name: str, value: str) -> str:
    # Every host sees the user agent, and it belongs to the job's record.
    return value if name.lower() == "user-agent" else HIDDEN


def _shown_pool(pool: str | None) -> str | None:
    if pool is None:
        return None
    # Imported here only: few jobs have proxies.
    from shoal.model.proxy_list import POOL_NAME

    return pool if POOL_NAME.fullmatch(pool) else HIDDEN


def _hidden(text: str | None) -> str | None:
    return None if text is None else HIDDEN


def _shown_webhook(spec: JobSpec) -> Webhook | None:
    # The URL itself is often the secret.
    return None if spec.webhook is None else Webhook(HIDDEN, _hidden(spec.webhook.secret))
