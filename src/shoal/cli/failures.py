"""What failed, in words a person reads at a glance: its name, what to do about it, and the groups of a job."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import TYPE_CHECKING

from shoal.cli.session import Session
from shoal.cli.terminal import folded, safe
from shoal.cli.words import plural

if TYPE_CHECKING:
    from shoal.jobs.overview import Overview
    from shoal.store.figures import Failures

HINTS = {
    "dns": "the name does not resolve: check its spelling, or your network",
    "connect": "nothing answers there: is the server up, is a firewall between?",
    "unreachable": "the host never answered for 15 s: is it up, and reachable from here?",
    "tls": "its certificate or protocol was refused: open it in a browser to see why",
    "timeout": "no whole answer in time: the host may be overloaded; try a lower --rate",
    "too_large": "more than is taken of one answer (10 MB, 40 MB unpacked, 300 kB of headers)",
    "protocol": "the connection broke off, or the answer was not proper HTTP",
    "proxy": "the proxy failed or refused: check --proxy",
    "undecodable": "the body could not be decompressed",
    "format_missing": "a format of the page could not be made: the page is kept without it",
    "broken_coding": "its compression is broken: what could be unpacked is kept, maybe a part",
    "redirect_loop": "its redirects lead back to themselves; it may want a cookie or login",
    "too_many_redirects": "more than 20 redirects in a row",
    "callback": "the spider failed on this page: mend it, then `RETRY`",
    "sitemap": "the sitemap is broken; what stood before the fault was taken",
    "poison": "reading its page ends the process; kept for review",
    "unreadable": "the page could not be read; --verbose logs why",
    "http 304": "the host says that nothing changed, though nobody asked: `RETRY` later",
    "http 429": "the host asks for fewer requests: lower --rate; its waits are kept to",
    "http 503": "the host is overloaded or refuses crawlers: lower --rate, or try later",
    "http 500": "the host fails on this page: `RETRY` later",
    "http 403": "the host refuses crawlers, or wants a login: see --header and --cookie",
}


def failure_name(kind: str, status: int | None) -> str:
    return str(status) if kind == "http" and status else kind


def hint(kind: str, status: int | None, retry: str) -> str | None:
    """What to do about it; `retry` is the command that tries it again."""
    usual = HINTS.get("http 500") if kind == "http" and (status or 0) >= 500 else None
    words = HINTS.get(f"{kind} {status}") or HINTS.get(kind) or usual
    return None if words is None else words.replace("RETRY", retry)


def failure_lines(session: Session, seen: Overview, most: int, further: str) -> list[str]:
    """Under a heading, if a job has any; `further` is the command that shows what is beyond the most."""
    if not seen.failures:
        return []
    retry, more = session.command("dead", seen.job.id, "--retry"), session.command(further, seen.job.id)
    return ["errors:", *group_lines(seen.failures, retry, more, get_terminal_size().columns, most)]


def group_lines(failures: list[Failures], retry: str, further: str, width: int, most: int) -> list[str]:
    """Each group of failed attempts with a count, a sample and what to do."""
    lines = []
    for group in failures[:most]:
        name = failure_name(group.kind, group.status)
        lines += folded(f"{name} x{group.n} at {safe(group.host)}, e.g. {safe(group.sample or '')}", width, "  ")
        if said := hint(group.kind, group.status, retry):
            # Not folded: some hold a command to be copied.
            lines.append(f"    {said}")
    if len(failures) > most:
        lines.append(f"  and {plural(len(failures) - most, 'more group')}: {further}")
    return lines
