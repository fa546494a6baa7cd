"""Writes docs/reference/options.md: python -m tests.options_page > docs/reference/options.md"""

from __future__ import annotations

from shoal.extract.format_names import FORMATS
from shoal.model.option import Kind, Option, Section
from shoal.model.options import OPTIONS
from shoal.urls.file_types import FILE_TYPES
from shoal.urls.traps import ALL, RULES

_NAMES = {Kind.TRAP: (*RULES, ALL), Kind.FILE_TYPE: (*FILE_TYPES, ALL), Kind.FORMAT: FORMATS}

HEAD = """\
# Options of a job

Every option of a job, under the headings of `shoal crawl --help`. `src/shoal/model/options.py` declares each of them
once, and this page is made from it: `python -m tests.options_page > docs/reference/options.md`.

- **option** is the name of the flag of [`shoal crawl`](cli.md#shoal-crawl), `submit` and `schedule add`. Without the
  dashes, and with `_` for `-`, it is also the name in the JSON of [`POST /jobs`](api.md#bodies) and in
  `shoal.submit` of Celery. A name without dashes has no flag: `submit` and `schedule add` take `--webhook`, and read
  the secret from `--webhook-secret-file`.
- **spider** says whether `@spider(...)` and the `options` of [rules](rules.md#options) may set it, by that name. The
  command line and the API win over them.
- **field** is its place in the job as the API shows it. `POST /jobs` and `PATCH` take the option at this place too, but
  not twice. A ¬ before it means that the field says the opposite of the option.
- **admin** says when the API requires a token with the scope admin.
- **change** says whether `PATCH /jobs/{id}` may change it while the job runs.
"""
COLUMNS = """
| option | meaning | takes | default | spider | field | admin | change |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    return HEAD + "".join(map(_section, Section))


def _section(section: Section) -> str:
    rows = (f"| {' | '.join(_cells(option))} |\n" for option in OPTIONS.values() if option.section is section)
    return f"\n## {section}\n{COLUMNS}{''.join(rows)}"


def _cells(option: Option) -> tuple[str, ...]:
    return (
        f"`{option.flag}`" if option.on_command_line else f"`{option.name}`",
        option.help,
        _takes(option),
        _default(option),
        "yes" if option.for_spiders else "",
        f"{'¬ ' * option.negated}`{option.field}`",
        option.admin or "",
        "yes" if option.can_change else "",
    )


def _takes(option: Option) -> str:
    if option.kind is Kind.FLAG:
        return str(option.kind)
    if option.choices:
        return ", ".join(f"`{choice}`" for choice in option.choices)
    if names := _NAMES.get(option.kind):
        return f"a list of {', '.join(f'`{name}`' for name in names)}"
    unit = f"{option.kind}: " if option.bound and option.kind is not Kind.COUNT else ""
    return f"{unit}{option.wants}"


def _default(option: Option) -> str:
    has_one = option.default is not None and not option.many and option.kind is not Kind.FLAG
    return f"`{option.default}`" if has_one else ""


if __name__ == "__main__":
    print(page(), end="")
