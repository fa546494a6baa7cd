"""Finds the spiders in a Scrapy module, and what each of them says about itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import UsageError
from shoal.spiders.from_scrapy.notes import Note

Method = ast.FunctionDef | ast.AsyncFunctionDef
START_METHODS = ("start_requests", "start")


@dataclass
class ScrapySpider:
    module: ast.Module
    node: ast.ClassDef
    name: str
    kind: str
    """The name of its base class, such as CrawlSpider."""
    methods: dict[str, Method]
    attributes: dict[str, ast.expr]
    """What its class sets, by name."""
    notes: list[Note] = field(default_factory=list)

    def constant(self, name: str) -> Any:
        """The value of an attribute that is a literal, else None."""
        try:
            return ast.literal_eval(self.attributes[name]) if name in self.attributes else None
        except ValueError:
            return None

    def note(self, node: ast.AST, text: str) -> None:
        self.notes.append(Note(getattr(node, "lineno", 0), text))


def spiders_in(source: str, filename: str) -> list[ScrapySpider]:
    """In their order. Raises UsageError."""
    try:
        module = ast.parse(source, filename)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{filename} is not Python: {error}") from None
    found = [_read(module, node) for node in module.body if isinstance(node, ast.ClassDef) and _is_spider(node)]
    if not found:
        raise UsageError(f"{filename} has no spider of Scrapy: a class whose base ends in Spider")
    return found


def _is_spider(node: ast.ClassDef) -> bool:
    return any(last_name(base).endswith("Spider") for base in node.bases)


def last_name(node: ast.expr | None) -> str:
    """`scrapy.Spider` and `Spider` -> Spider."""
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(attr=attr):
            return attr
    return ""


def _read(module: ast.Module, node: ast.ClassDef) -> ScrapySpider:
    methods = {part.name: part for part in node.body if isinstance(part, Method)}
    attributes = dict(_assigned(node.body))
    if "__init__" in methods:
        for name, value in _assigned_to_self(methods["__init__"]):
            attributes.setdefault(name, value)
    kind = next(last_name(base) for base in node.bases if last_name(base).endswith("Spider"))
    spider = ScrapySpider(module, node, "", kind, methods, attributes)
    spider.name = str(spider.constant("name") or node.name.removesuffix("Spider").lower() or "pages")
    return spider


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id)], value=value):
                yield id, value
            case ast.AnnAssign(target=ast.Name(id), value=value) if value is not None:
                yield id, value


def _assigned_to_self(method: Method) -> Iterator[tuple[str, ast.expr]]:
    for part in method.body:
        match part:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name("self"), attr=name)], value=value):
                yield name, value
