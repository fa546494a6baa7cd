"""What a job was asked to do, in words: scope, limits, politeness and every override, but no secret."""

from __future__ import annotations

from shoal.cli.terminal import safe
from shoal.cli.words import count, duration, plural, size
from shoal.model import JobSpec, Limits, Politeness, reached_limit
from shoal.store.jobs import Job

_RAISED_BY = {
    "pages": "--max-pages N",
    "pages_per_host": "--max-pages-per-host N",
    "bytes": "--max-bytes SIZE",
    "seconds": "--max-seconds TIME",
}


def higher_limit(job: Job) -> str:
    """The option of `resume` with which a job goes on that a limit ended."""
    return _RAISED_BY[reached_limit(job.reason) or "pages"]


def terms(spec: JobSpec) -> dict[str, str]:
    """Headings and what stands under them; empty where there is nothing to say."""
    return {
        "scope": _scope(spec),
        "limits": _limits(spec.limits),
        "politeness": _politeness(spec.politeness),
        "overrides": _overrides(spec),
        "user agent": safe(spec.user_agent),
        "sends": _sends(spec),
        "output": safe(spec.output or ""),
    }


def _scope(spec: JobSpec) -> str:
    parts = [spec.scope.value, *(f"only {safe(text)}" for text in spec.include)]
    parts += [f"not {safe(text)}" for text in spec.exclude]
    return ", ".join([*parts, *["with sitemaps"] * spec.sitemaps])


def _limits(limits: Limits) -> str:
    parts = []
    if limits.pages is not None:
        parts.append(plural(limits.pages, "page"))
    if limits.pages_per_host is not None:
        parts.append(f"{plural(limits.pages_per_host, 'page')} per host")
    if limits.depth is not None:
        parts.append(f"depth {count(limits.depth)}")
    if limits.bytes is not None:
        parts.append(size(limits.bytes))
    if limits.seconds is not None:
        parts.append(duration(limits.seconds))
    return ", ".join(parts)


def _politeness(politeness: Politeness) -> str:
    rate = f"{politeness.rate:g} requests/s" if politeness.rate else "any number of requests/s"
    return f"{rate} and {politeness.per_host} in flight per {politeness.group}"


def _overrides(spec: JobSpec) -> str:
    words = {"ignore_robots": "--ignore-robots", "allow_private": "--allow-private", "rate_0": "--rate 0"}
    named = [words.get(name, "a user agent of its own") for name in spec.overrides]
    allowed = [f"--allow-trap {','.join(spec.allow_traps)}"] if spec.allow_traps else []
    return ", ".join([*named, *allowed, *["--refresh"] * spec.refresh])


def _sends(spec: JobSpec) -> str:
    """Names only: the values are often secrets."""
    parts = [f"header {safe(name)}" for name in spec.headers]
    counts = {"cookie": len(spec.cookies), "password": len(spec.credentials)}
    parts += [plural(n, noun) for noun, n in counts.items() if n]
    if spec.proxies:
        parts.append("through a proxy" if len(spec.proxies) == 1 else f"through {count(len(spec.proxies))} proxies")
    return ", ".join(parts)
