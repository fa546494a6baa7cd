from typing_extensions import Buffer

def scan(
    html: Buffer, most_marks: int, most_text: int
) -> tuple[str | None, str | None, list[tuple[str, dict[str, str]]], list[str], dict[int, str], list[str], bytes]:
    """Language, title, sayings, hrefs, the rels of some of them by their place, frames, and text in UTF-8."""

def shows_enough(html: Buffer, most_bytes: int, most_tags: int, enough_text: int, enough_links: int) -> bool:
    """Whether this much of a page has enough text or links, as `page_statistics` counts them."""
