"""The help of commands with all options of a job: the most used come first, the others under a heading each."""

from __future__ import annotations

import click

from shoal.cli.session import OWN_OPTIONS, Command
from shoal.model.option import Section
from shoal.model.options import OPTIONS

MOST_USED = (
    *("output", "name", "scope", "include", "exclude", "max_pages", "max_depth", "max_seconds", "rate", "dry_run"),
)
"""Of `crawl`; what it alone has is left out elsewhere."""
_OF_COMMANDS = {
    "cron": Section.JOB,
    "zone": Section.JOB,
    "overlap": Section.JOB,
    **dict.fromkeys(("scrapy", "spider", "project_version", "settings", "processes"), Section.WHAT),
    "column": Section.WHAT,
    "strict": Section.WHAT,
    "concurrency": Section.NETWORK,
}
"""Options that belong to the command and not to the job; all others are about its data."""


class SectionedCommand(Command):
    def sections(self, ctx: click.Context) -> dict[str, list[click.Parameter]]:
        own = {param.name: param for param in self.own_options(ctx)}
        most_used = [own.pop(name) for name in ("cron", *MOST_USED) if name in own]
        sections: dict[str, list[click.Parameter]] = {OWN_OPTIONS: most_used, **{section: [] for section in Section}}
        for name, param in own.items():
            sections[_section(name or "")].append(param)
        return sections


def _section(name: str) -> Section:
    return OPTIONS[name].section if name in OPTIONS else _OF_COMMANDS.get(name, Section.DATA)
