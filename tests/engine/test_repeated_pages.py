"""Pages that only repeat others, such as the old versions that a git browser shows."""

from __future__ import annotations

from shoal.engine.reading.similar_pages import GENERATION, SimilarPages
from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, Pages, html, serving, spec

MENU = "Home. About us. Contact. Imprint. "
FILES, COMMITS, LINES = 8, 24, 40
VIEWS = ("tree", "blame", "diff")


def digest(number: int) -> str:
    return f"{number:040x}"


def is_known(known: SimilarPages, text: str, version: int = 1, path: str = "/tree/a") -> bool | None:
    return known.is_like_another("example.org", f"https://example.org{path}?id={digest(version)}", MENU + text)


def lines(name: object, count: int = LINES) -> str:
    return "".join(f"file {name} says this in line {line}. " for line in range(count))


def pages(count: int) -> SimilarPages:
    known = SimilarPages()
    for number in range(count):
        assert not is_known(known, lines(number), number)
    return known


def test_a_version_with_few_other_phrases_is_known() -> None:
    known = pages(20)
    assert is_known(known, lines(7, LINES - 2) + "a line that was changed. and another.", 100)
    half = lines(8, LINES // 2)
    assert not is_known(known, half + "".join(f"news {n}. " for n in range(LINES)), 101)


def test_a_part_of_a_version_is_known_but_not_a_part_of_another_page() -> None:
    """A list may show the whole of a page, as a log shows the messages of commits."""
    known = pages(20)
    assert is_known(known, lines(7, 5), version=7, path="/diff/a")
    assert not is_known(known, lines(8, 5), version=100)


def test_pages_without_a_version_are_not_compared() -> None:
    known = pages(20)
    assert known.is_like_another("example.org", "https://example.org/product?id=7", MENU + lines(7)) is None


def test_commits_with_short_messages_of_one_author_are_not_alike() -> None:
    known = SimilarPages()
    labels = "author. committer. tree. parent. summary. shortlog. snapshot. Jane Doe. jane@example.org. "
    for number in range(100):
        message = f"Mend the {number}th fault. In file {number}. It was {number} days old. "
        assert not is_known(known, f"{labels}{message}{digest(number)}. {digest(number - 1)}.", number + 1)


def test_the_text_of_a_difference_needs_no_line_breaks() -> None:
    known = SimilarPages()
    for number in range(20):
        is_known(known, "\n".join(f"file {number} has line {line}" for line in range(LINES)), number)
    assert is_known(known, "".join(f"+file 3 has line {line}" for line in range(LINES)), 100)


def test_pages_of_long_ago_are_forgotten() -> None:
    """Not all phrases of a million pages are kept."""
    known = pages(10)
    assert is_known(known, lines(7), 100)
    for part in range(GENERATION // 1_000 + 10):
        is_known(known, ".".join(f"{part}/{phrase}" for phrase in range(1_000)), 1_000 + part)
    assert not is_known(known, lines(7), 100)


def _file(number: int, commit: int) -> str:
    """Each commit changes one line of one file."""
    changed = [c for c in range(commit + 1) if c % FILES == number]
    return "\n".join(f"file {number} line {n} version {max(changed[n::LINES], default=0)}" for n in range(LINES))


def git_browser() -> Pages:
    """Every file in every view, at each commit and now."""

    def shown(visit: Visit) -> Answer:
        number = int(visit.path.rpartition("/")[2])
        commit = int(visit.query.partition("=")[2] or f"{COMMITS - 1:x}", 16)
        links = [f"/{view}/{number}?id={digest(max(0, commit - 1))}" for view in VIEWS] if visit.query else []
        return html(*links, body=MENU + _file(number, commit))

    def log(visit: Visit) -> Answer:
        return html(
            *(f"/commit?id={digest(commit)}" for commit in range(COMMITS)), *(f"/tree/{n}" for n in range(FILES))
        )

    def commit(visit: Visit) -> Answer:
        at = int(visit.query.partition("=")[2], 16)
        links = [f"/{view}/{number}?id={digest(at)}" for view in VIEWS for number in range(FILES)]
        return html(*links, body=f"{MENU}The message of commit {at}. It says {at} times why.")

    return {
        **{"/": html("/log"), "/log": log, "/commit": commit},
        **{f"/{view}/{number}": shown for view in VIEWS for number in range(FILES)},
    }


async def test_a_git_browser_comes_to_an_end_with_all_commits_and_files(crawler: Field) -> None:
    async with serving(git_browser()) as site:
        seen = await crawler.crawl(spec(per_host=2), site.url())
    fetched = set(crawler.pages())
    assert fetched >= {f"/commit?id={digest(commit)}" for commit in range(COMMITS)}
    assert fetched >= {f"/tree/{number}" for number in range(FILES)}
    # Of 610 pages.
    assert len(fetched) < 300
    assert seen.stored.dropped["shape"] > 200
    assert any(one.shape == "/tree/*?id" for one in seen.stored.shapes)
