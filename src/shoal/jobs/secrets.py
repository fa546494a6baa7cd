"""A job, or its options, as they may be shown to whoever may look: without what only its owner knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.model import JobSpec, Webhook
from shoal.store.jobs import Job

HIDDEN = "***"
_OPTIONS = frozenset({"header", "cookie", "proxy", "webhook", "webhook_secret"})


def without_secrets(job: Job) -> Job:
    """That there are rules, headers, cookies and so on can still be told, and how many; rules may hold any of them."""
    spec = job.spec
    shown = replace(
        spec,
        headers={name: _shown_header(name, value) for name, value in spec.headers.items()},
        cookies=tuple(f"{cookie.partition('=')[0]}={HIDDEN}" for cookie in spec.cookies),
        proxies=(HIDDEN,) * len(spec.proxies),
        credentials=dict.fromkeys(spec.credentials, HIDDEN),
        rules=_hidden(spec.rules),
        webhook=_shown_webhook(spec),
    )
    return replace(job, spec=shown, extracted_by=_hidden(job.extracted_by))


def options_without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by the names of the flags; which are given can still be told, and how many of each."""
    return {name: _masked(value) if name in _OPTIONS else value for name, value in options.items()}


def _masked(value: str | Sequence[str]) -> str | list[str]:
    return HIDDEN if isinstance(value, str) else [HIDDEN] * len(value)


def _shown_header(name: str, value: str) -> str:
    # How it names itself is told to every host, and belongs to the record of the job.
    return value if name.lower() == "user-agent" else HIDDEN


def _hidden(text: str | None) -> str | None:
    return None if text is None else HIDDEN


def _shown_webhook(spec: JobSpec) -> Webhook | None:
    # Its URL often is the secret.
    return None if spec.webhook is None else Webhook(HIDDEN, _hidden(spec.webhook.secret))
