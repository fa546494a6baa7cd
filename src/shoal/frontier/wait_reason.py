"""Explains to a person why a job waits."""

from __future__ import annotations

from shoal.frontier.contract import HostState


def why_waiting(host: HostState, now: float, others_too: bool) -> str | None:
    """What prevents a fetch from the host that is next."""
    others = "; other hosts wait too" if others_too else ""
    if host.paused:
        return f"{host.name} is paused by the operator{others}"
    if host.block_until > now:
        return f"{host.name} is in backoff for {host.block_until - now:.0f} s ({host.block_reason}){others}"
    if host.next_at > now:
        return f"the rate limit of {host.name}{others}"
    return f"responses of {host.name}{others}" if host.in_flight else None
