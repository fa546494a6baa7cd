"""Texts for the articles of wikis and posts of a blog: the reference that comes with Python, in parts."""

from __future__ import annotations

import random
from pydoc_data.topics import topics
from typing import NamedTuple

ARTICLES = 170
LEAST_CHARS = 400
MOST_CHARS = 3_000


class Article(NamedTuple):
    name: str
    """Lower case letters and digits."""
    text: str
    """Paragraphs, with an empty line between them."""
    linked: list[str]
    """Names of other articles."""
    topic: str


def articles() -> list[Article]:
    """The same in every run. Each but the first is linked by at least one before it."""
    texts = [(topic, part) for topic, text in sorted(topics.items()) for part in _parts(text)][:ARTICLES]
    names = [f"{topic.lower().replace('-', '')}{number}" for number, (topic, _) in enumerate(texts)]
    chance = random.Random(1)
    found = []
    for number, (topic, text) in enumerate(texts):
        ahead = [2 * number + 1, 2 * number + 2, *(chance.randrange(len(texts)) for _ in range(3))]
        linked = [names[other] for other in ahead if other < len(texts) and other != number]
        found.append(Article(names[number], text, linked, f"topic{len(topic) % 9}"))
    return found


def _parts(text: str) -> list[str]:
    parts, part = [], ""
    for paragraph in text.split("\n\n"):
        part += paragraph.strip() + "\n\n"
        if len(part) > MOST_CHARS:
            parts.append(part)
            part = ""
    return [one for one in [*parts, part] if len(one) >= LEAST_CHARS]
