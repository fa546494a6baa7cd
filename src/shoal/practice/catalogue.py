"""The shops' products, made from a seed: a branch per host, its categories and its products.

Every product is computed from (seed, branch, number) alone. So a shop of a million products costs nothing until it is
visited, and the same seed gives the same shop on any machine.
"""

from __future__ import annotations

import datetime
import random
import re
from dataclasses import dataclass, field
from functools import cached_property

from shoal.practice.vocabulary import LANGUAGES, Language, slug

GONE_PRODUCTS = 3
_RELATED = 4
_CATEGORY_PATH = re.compile(r"/category/([^/]+)/(?:index|page-([0-9]{1,9}))\.html")
_FIRST_DAY = datetime.datetime(2025, 1, 1, 9, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Product:
    number: int
    name: str
    path: str
    price: str
    upc: str
    stock: int
    description: str
    added: datetime.datetime


@dataclass(frozen=True, slots=True)
class Category:
    index: int
    name: str
    slug: str
    page_count: int

    def path(self, page: int = 1) -> str:
        return f"/category/{self.slug}/{'index' if page == 1 else f'page-{page}'}.html"


@dataclass(frozen=True)
class Branch:
    """One shop of the chain. Product n belongs to category n modulo their number."""

    seed: int
    address: str
    index: int
    category_count: int
    product_count: int
    per_page: int
    troubled: bool
    """Whether it has a page of odds and ends, and links to products that are sold out."""
    _products: dict[int, Product] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return f"Pebble & Pine No. {self.index + 1}"

    @property
    def language(self) -> Language:
        return LANGUAGES[self.index % len(LANGUAGES)]

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        return tuple(self._category(index) for index in range(self.category_count))

    def _category(self, index: int) -> Category:
        words = self.language.categories
        repeats, place = divmod(index, len(words))
        name = f"{words[place]} {repeats + 1}" if repeats else words[place]
        pages = -(-len(self._numbers(index)) // self.per_page)
        return Category(index, name, slug(name), max(1, pages))

    @cached_property
    def _categories_by_slug(self) -> dict[str, Category]:
        return {category.slug: category for category in self.categories}

    def category_at(self, path: str) -> tuple[Category, int] | None:
        """The category and the page number."""
        parts = _CATEGORY_PATH.fullmatch(path)
        category = self._categories_by_slug.get(parts[1]) if parts else None
        if parts is None or category is None:
            return None
        page = int(parts[2] or 1)
        return (category, page) if page <= category.page_count and category.path(page) == path else None

    def category_of(self, product: Product) -> Category:
        return self.categories[product.number % self.category_count]

    def listed(self, category: Category, page: int) -> list[Product]:
        start = (page - 1) * self.per_page
        return [self.product(number) for number in self._numbers(category.index)[start : start + self.per_page]]

    def _numbers(self, category: int) -> range:
        return range(category, self.product_count, self.category_count)

    def product(self, number: int) -> Product:
        made = self._products.get(number)
        if made is None:
            made = self._products[number] = self._make(number)
        return made

    def _make(self, number: int) -> Product:
        chance = random.Random((self.seed * 1_000_003 + self.index) * 1_000_003 + number)
        language = self.language
        name = language.name.format(adjective=chance.choice(language.adjectives), noun=chance.choice(language.nouns))
        hundredths = chance.randrange(99, 10_000) * (20 if chance.random() < 0.05 else 1)
        return Product(
            number=number,
            name=name,
            path=f"/product/{slug(name)}-{number + 1}.html",
            price=language.price(hundredths),
            upc=f"{chance.getrandbits(64):016x}",
            stock=chance.randrange(30),
            description=" ".join(chance.choices(language.sentences, k=8)),
            added=_FIRST_DAY + datetime.timedelta(hours=number % 8760),
        )

    def product_at(self, path: str) -> Product | None:
        digits = path.removesuffix(".html").rpartition("-")[2]
        if not digits.isdecimal() or not 1 <= int(digits) <= self.product_count:
            return None
        product = self.product(int(digits) - 1)
        return product if product.path == path else None

    def related(self, product: Product) -> list[Product]:
        """Other products of the same category, cyclically."""
        numbers = self._numbers(product.number % self.category_count)
        place = numbers.index(product.number)
        others = min(_RELATED, len(numbers) - 1)
        return [self.product(numbers[(place + step) % len(numbers)]) for step in range(1, others + 1)]

    def gone_from(self, product: Product) -> list[Product]:
        """The sold-out products that this one's page still links to."""
        return [gone for place, gone in self.gone_products if place == product.number]

    @cached_property
    def gone_products(self) -> list[tuple[int, Product]]:
        """Sold-out products, each with the number of the product whose page links to it."""
        if not self.troubled:
            return []
        return [
            (extra * self.product_count // GONE_PRODUCTS, self._make(self.product_count + extra))
            for extra in range(GONE_PRODUCTS)
        ]
