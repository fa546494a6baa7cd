"""The patterns of --include and --exclude, matched against canonical URLs.

Plain text matches anywhere in the URL, and `*` in it matches any characters (`/tag/*/page`). `re:` begins a regular
expression, which is searched for (`re:[.]pdf$`). Case counts. All of them take linear time, so that a submitted job
cannot stall a worker. Python's `re` backtracks, and neither refusing nested quantifiers nor limiting the URL's length
would bound `.*.*.*.*x`. RE2 does not backtrack.
"""

from __future__ import annotations

from collections.abc import Callable

from shoal.errors import UsageError

Pattern = Callable[[str], bool]


def compiled(pattern: str, option: str) -> Pattern:
    """`option` names the option of the pattern, for the message of the UsageError."""
    if not pattern.removeprefix("re:"):
        raise UsageError(f"{option} pattern {pattern!r} is empty and would match every URL; leave it out")
    if pattern.startswith("re:"):
        return _regex(pattern, option)
    return _text(pattern)


def _text(pattern: str) -> Pattern:
    pieces = pattern.split("*")

    def matches(url: str) -> bool:
        # The earliest match of each piece leaves most room for the next, so no backtracking is needed.
        at = 0
        for piece in pieces:
            found = url.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True

    return matches


def _regex(pattern: str, option: str) -> Pattern:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        regex = re2.compile(pattern.removeprefix("re:"), options)
    except re2.error as error:
        raise UsageError(_complaint(pattern, option, error.args[0].decode(errors="replace"))) from None
    except UnicodeEncodeError:
        raise UsageError(_complaint(pattern, option, "half of a surrogate pair")) from None

    def matches(url: str) -> bool:
        return regex.search(url.encode()) is not None

    return matches


def _complaint(pattern: str, option: str, problem: str) -> str:
    return (
        f"{option} pattern {pattern!r} is not a regular expression that RE2 can run: {problem}. "
        "RE2 has no look-around or backreferences. Correct it, or write plain text without `re:`, "
        "where * stands for any characters."
    )
