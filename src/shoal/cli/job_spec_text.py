"""What a job was asked to do, in words: scope, limits, politeness and every override, but no secret."""

from __future__ import annotations

from shoal.cli.humanize import count, duration, plural, size
from shoal.cli.job_flags import METAVARS
from shoal.cli.terminal_text import safe
from shoal.jobs.mask_secrets import shown_arguments
from shoal.model import JobSpec, Limits, Politeness, Render, reached_limit
from shoal.model.options import FIELDS, OPTIONS
from shoal.store.jobs import Job

_OVERRIDES = {
    "ignore_robots": "--ignore-robots",
    "ignore_nofollow": "--ignore-nofollow",
    "allow_private": "--allow-private",
    "insecure": "--insecure (certificates are not checked)",
    "ca_file": "--ca-file",
    "rate_0": "--rate 0",
    "user_agent": "a user agent of its own",
}


def higher_limit(job: Job) -> str:
    """The option of `resume` that continues a job that a limit ended."""
    option = FIELDS[f"limits.{reached_limit(job.reason) or 'pages'}"]
    return f"{option.flag} {METAVARS[option.kind]}"


def terms(spec: JobSpec) -> dict[str, str]:
    """Headings and what stands under them; empty where there is nothing to say."""
    return {
        "scrapy": _scrapy(spec),
        "scope": _scope(spec),
        "limits": _limits(spec.limits),
        "politeness": _politeness(spec.politeness),
        "rendering": _rendering(spec),
        "overrides": _overrides(spec),
        "user agent": safe(spec.user_agent),
        "sends": _sends(spec),
        "arguments": _arguments(spec),
        "output": safe(spec.output or ""),
    }


def _scrapy(spec: JobSpec) -> str:
    """What workers run, by the names of scrapyd's API if it was scheduled there."""
    run = spec.scrapy_run
    if run is None or spec.scrapy is None:
        return ""
    project = run.project if run.name is None else " ".join(filter(None, (run.name, run.version)))
    parts = [f"spider {safe(spec.scrapy)} of {safe(project)}"]
    parts += [f"{count(run.processes)} processes"] if run.processes > 1 else []
    return ", ".join([*parts, *([f"jobid {safe(run.jobid)}"] if run.jobid else [])])


def _scope(spec: JobSpec) -> str:
    parts = [spec.scope.value, *(f"only {safe(text)}" for text in spec.include)]
    parts += [f"not {safe(text)}" for text in spec.exclude]
    return ", ".join([*parts, *["with sitemaps"] * spec.sitemaps])


def _limits(limits: Limits) -> str:
    parts = []
    if limits.pages is not None:
        parts.append(plural(limits.pages, "page"))
    if limits.assets is not None:
        parts.append(plural(limits.assets, "asset"))
    if limits.pages_per_host is not None:
        parts.append(f"{plural(limits.pages_per_host, 'page')} per host")
    if limits.depth is not None:
        parts.append(f"depth {count(limits.depth)}")
    if limits.bytes is not None:
        parts.append(size(limits.bytes))
    if limits.seconds is not None:
        parts.append(duration(limits.seconds))
    if limits.cost is not None:
        parts.append(f"{limits.cost:g} for proxies")
    return ", ".join(parts)


def _politeness(politeness: Politeness) -> str:
    parts = [f"{_rate(politeness.rate)} and {politeness.per_host} in flight per {politeness.group}"]
    parts += [f"{_rate(own.rate)} and {own.per_host} in flight at {safe(own.host)}" for own in politeness.hosts]
    return ", ".join(parts)


def _rate(rate: float) -> str:
    return f"{rate:g} request{'' if rate == 1 else 's'}/s" if rate else "any number of requests/s"


def _rendering(spec: JobSpec) -> str:
    """Which pages a browser loads, and what it does there; what a step types may be secret."""
    if spec.render is Render.NEVER:
        return ""
    rendering = spec.rendering.rendering
    parts = [spec.render.value, *(safe(str(step)) for step in rendering.steps)]
    view = (spec.rendering.viewport, rendering.locale, rendering.time_zone)
    blocked = [f"without {safe(pattern)}" for pattern in rendering.block]
    also = [*blocked, *["with images"] * rendering.load_images, *["robots.txt for calls too"] * rendering.robots_strict]
    return ", ".join([*parts, *(safe(text) for text in view if text), *also])


def _overrides(spec: JobSpec) -> str:
    named = [_OVERRIDES[name] for name in spec.overrides]
    allowed = [f"--allow-trap {','.join(spec.allow_traps)}"] if spec.allow_traps else []
    allowed += [f"--allow-shape {shape}" for shape in spec.allow_shapes]
    types = [f"--types {','.join(spec.types)}"] if spec.types else []
    return ", ".join([*named, *allowed, *types, *["--refresh"] * spec.refresh])


def _sends(spec: JobSpec) -> str:
    """Names only: the values are often secrets."""
    parts = [f"header {safe(name)}" for name in spec.headers]
    counts = {
        "cookie": len(spec.cookies) + len((spec.cookie_file or "").splitlines()),
        "password": len(spec.credentials),
    }
    parts += [plural(n, noun) for noun, n in counts.items() if n]
    if spec.proxy_pool:
        # Imported here only: few jobs have proxies.
        from shoal.model.proxy_list import POOL_NAME

        named = POOL_NAME.fullmatch(spec.proxy_pool)
        where = f" in {safe(spec.region)}" if spec.region else ""
        parts.append((f"through the proxies {spec.proxy_pool}" if named else "through a list of proxies") + where)
    if spec.proxies:
        parts.append("through a proxy" if len(spec.proxies) == 1 else f"through {plural(len(spec.proxies), 'proxy')}")
    return ", ".join(parts)


def _arguments(spec: JobSpec) -> str:
    return ", ".join(safe(text) for text in OPTIONS["argument"].from_field(shown_arguments(spec)))
