"""Options of a project: the table `[crawl]` of the nearest shoal.toml, with the names of `model/options.py`.

The file is looked for in the working directory and in the folders above it, up to the root of the repository or the
user's home. Elsewhere only the working directory counts: anybody may write a file into /tmp.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from shoal.cli.job_flags import option_type
from shoal.errors import UsageError
from shoal.model.option import FILES, Kind, Option
from shoal.model.options import OPTIONS
from shoal.settings import PROJECT_TABLE, read_toml
from shoal.wording import did_you_mean

if TYPE_CHECKING:
    from shoal.cli.session import Session
    from shoal.spiders.spider import Spider

NAME = "shoal.toml"
_ALLOWED = {name: option for name, option in OPTIONS.items() if option.on_command_line}


class ProjectOptions(NamedTuple):
    path: Path | None
    """None: there is no such file, or it has no options."""
    options: Mapping[str, Any]


def with_project_options(
    session: Session, source: tuple[str, ...], given: Mapping[str, Any], spider: Spider | None
) -> dict[str, Any]:
    """Adds the options of the project that neither the command line nor the spider sets, and names them on stderr."""
    own = spider.options if spider is not None else {}
    # A list is fetched as it is, unless somebody who sees the list says otherwise.
    is_list = any(word == "-" or word.startswith("@") for word in source)
    used = [name for name in _ALLOWED if not (is_list and name == "scope")]
    return {**added_options(session, {**own, **given}, used), **given}


def added_options(session: Session, known: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """The options of the project among those that a command uses, without the `known` ones. Names them on stderr."""
    project = project_options(Path.cwd())
    added = {name: value for name, value in project.options.items() if name in used and name not in known}
    if added and not session.quiet:
        session.say(f"options from {_shown(project.path)}: {', '.join(added)}")
    return added


def project_options(folder: Path) -> ProjectOptions:
    """Raises UsageError that names the file, the key and the way out."""
    for path in _candidates(folder):
        if PROJECT_TABLE in (content := read_toml(path)):
            return ProjectOptions(path, _read(path, content[PROJECT_TABLE]))
    return ProjectOptions(None, {})


def _candidates(folder: Path) -> Iterator[Path]:
    above = [folder, *folder.parents]
    ends = (place for place, one in enumerate(above) if one == Path.home() or (one / ".git").exists())
    for one in above[: next(ends, 0) + 1]:
        yield one / NAME


def _read(path: Path, table: Any) -> dict[str, Any]:
    where = f"{_shown(path)}, [{PROJECT_TABLE}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table of options, such as rate = 1")
    return {name: _value(where, path, name, value) for name, value in table.items()}


def _value(where: str, path: Path, name: str, value: Any) -> Any:
    option = _ALLOWED.get(name)
    if option is None:
        hint = did_you_mean(name.replace("-", "_"), _ALLOWED) or f"; there are {', '.join(_ALLOWED)}"
        raise UsageError(f"{where}: there is no option {name!r}{hint}")
    value = _converted(where, path, option, value)
    if fault := option.fault(value):
        raise UsageError(f"{where}: {fault}")
    return value


def _converted(where: str, path: Path, option: Option, value: Any) -> Any:
    """Text is read as on the command line: "10m" is a duration. A path is relative to the file."""
    if option.many:
        return tuple(value) if isinstance(value, list) else (value,)
    if option.kind is Kind.PROXY_POOL and isinstance(value, str) and _is_file(path.parent, value):
        value = str(path.parent / value)
        return option_type(option).convert(value, None, None)
    if not isinstance(value, str) or (option.bound is None and option.kind not in FILES):
        return value
    text = str(path.parent / value) if option.kind in FILES else value
    try:
        return option_type(option).convert(text, None, None)
    except click.BadParameter as error:
        raise UsageError(f"{where}: {option.name}: {error.message}") from None


def _is_file(folder: Path, name: str) -> bool:
    """A list of proxies may stand in its place, which is too long for a name."""
    return "\n" not in name and "://" not in name and (folder / name).is_file()


def _shown(path: Path | None) -> str:
    """Its name alone, if it is in the working directory."""
    return NAME if path is None or path.parent == Path.cwd() else str(path)
