"""Translates a callback, statement by statement: the usual shapes to Shoal's, the others as they are.

A statement that cannot be translated becomes a comment in its place, with the line of the original.
"""

from __future__ import annotations

import ast
import copy
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from shoal.spiders.from_scrapy.expressions import NODE, PAGE, TEXT, Names, Translate
from shoal.spiders.from_scrapy.notes import Note, Untranslatable
from shoal.spiders.from_scrapy.read_spider import last_name
from shoal.spiders.from_scrapy.selections import Selection, Value, selection_in, value_in
from shoal.spiders.from_scrapy.simplify import simplified

_RESERVED = frozenset(("copy", "dict", "json", "schema", "construct", "validate", "model_config"))
"""Names that a field of an Item cannot have."""
INDENT = "    "
LOGS = "Shoal logs requests and errors itself"


@dataclass(frozen=True)
class ItemClass:
    name: str
    fields: tuple[tuple[str, str, str], ...]
    """Name, type and selector of each, as code."""

    @property
    def code(self) -> str:
        lines = [f"{INDENT}{name}: {type} = {selector}" for name, type, selector in self.fields]
        return "\n".join([f"class {self.name}(Item):", *lines])


class CallbackWriter:
    def __init__(self, names: Names, source: Sequence[str], classes: list[ItemClass], notes: list[Note]) -> None:
        """`classes` and `notes` get what is found."""
        self._names = names
        self._source = source
        self._classes = classes
        self._notes = notes

    def body(self, statements: Sequence[ast.stmt], indent: str) -> list[str]:
        """At least one line."""
        lines: list[str] = []
        rest = simplified(statements, lambda node, text: self._notes.append(Note(getattr(node, "lineno", 0), text)))
        while rest:
            statement = rest.pop(0)
            if rest and (both := self._first_link(statement, rest[0], rest[1:])) is not None:
                rest.pop(0)
                lines.append(indent + both)
                continue
            lines += self._statement(statement, indent)
        if all(line.lstrip().startswith("#") for line in lines):
            lines.append(f"{indent}pass")
        return lines

    def _statement(self, statement: ast.stmt, indent: str) -> list[str]:
        try:
            return [indent + line for line in self._translated(statement)]
        except Untranslatable as fault:
            self._names.missing |= {part.id for part in ast.walk(statement) if _is_set(part)}
            return self.kept(statement, fault, indent)

    def kept(self, statement: ast.stmt, fault: Untranslatable, indent: str) -> list[str]:
        """The statement as a comment."""
        line = fault.line or statement.lineno
        self._notes.append(Note(line, fault.why))
        # A statement that was put together for others has no end.
        end = getattr(statement, "end_lineno", None) or statement.lineno
        original = self._source[statement.lineno - 1 : end]
        margin = min((len(text) - len(text.lstrip()) for text in original if text.strip()), default=0)
        return [f"{indent}# line {line}: {fault.why}", *(f"{indent}# {text[margin:]}".rstrip() for text in original)]

    def _translated(self, statement: ast.stmt) -> list[str]:
        match statement:
            case ast.Expr(value=ast.Constant(value=str(text))):
                return [repr(text) if '"' in text or "\\" in text else f'"""{text}"""']
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr="logger")))):
                raise Untranslatable(statement, LOGS)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("self"), attr="log"))):
                raise Untranslatable(statement, LOGS)
            case ast.Expr(value=ast.Yield(value=value)) if value is not None:
                return self._yielded(value)
            case ast.Return(value=ast.Call() | ast.Dict() as value):
                return [self._item_of_page(value) or f"return {self._code(value)}"]
            case ast.For(target=ast.Name()) if made := self._loop_of_items(statement) or self._loop_of_links(statement):
                return [made]
            case ast.For() | ast.While() | ast.If() | ast.With() | ast.Try():
                return self._block(statement)
            case ast.Assign(targets=[ast.Name(id)], value=value):
                return self._assigned(id, value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                raise Untranslatable(statement, f"the definition of {statement.name} within a callback")
        plain = Translate(self._names).visit(copy.deepcopy(statement))
        return ast.unparse(ast.fix_missing_locations(plain)).splitlines()

    def _code(self, value: ast.expr) -> str:
        return ast.unparse(ast.fix_missing_locations(Translate(self._names).of(copy.deepcopy(value))))

    def _yielded(self, value: ast.expr) -> list[str]:
        if (made := self._item_of_page(value)) is not None:
            return [made.replace("return", "yield", 1)]
        return [f"yield {self._code(value)}"]

    def _assigned(self, name: str, value: ast.expr) -> list[str]:
        translate = Translate(self._names)
        plain = translate.without_alias(value)
        found = selection_in(plain)
        line = f"{name} = {self._code(value)}"
        self._names.kinds.pop(name, None)
        self._names.aliases.pop(name, None)
        if found is not None and translate.is_place(found.base):
            self._names.aliases[name] = plain
        elif isinstance(plain, ast.Subscript) and (inner := selection_in(plain.value)) is not None:
            self._names.kinds[name] = TEXT if inner.gives_text else NODE
        return [line]

    def _block(self, statement: ast.stmt) -> list[str]:
        match statement:
            case ast.For(target=target, iter=iterated):
                code = self._code(iterated)
                Translate(self._names).loop_variable(target, iterated)
                lines = [f"for {ast.unparse(target)} in {code}:", *self.body(statement.body, INDENT)]
                return lines + (["else:", *self.body(statement.orelse, INDENT)] if statement.orelse else [])
            case ast.While(test=test):
                return [f"while {self._code(test)}:", *self.body(statement.body, INDENT)]
            case ast.If(test=test):
                return self._branches(statement, f"if {self._code(test)}:")
            case ast.With(items=items):
                opened = ", ".join(ast.unparse(Translate(self._names).visit(copy.deepcopy(one))) for one in items)
                return [f"with {opened}:", *self.body(statement.body, INDENT)]
            case ast.Try():
                return self._attempt(statement)
        raise AssertionError(statement)

    def _branches(self, statement: ast.If, head: str) -> list[str]:
        lines = [head, *self.body(statement.body, INDENT)]
        if len(statement.orelse) == 1 and isinstance(other := statement.orelse[0], ast.If):
            return lines + self._branches(other, f"elif {self._code(other.test)}:")
        return lines + (["else:", *self.body(statement.orelse, INDENT)] if statement.orelse else [])

    def _attempt(self, statement: ast.Try) -> list[str]:
        lines = ["try:", *self.body(statement.body, INDENT)]
        for handler in statement.handlers:
            kind = f" {ast.unparse(handler.type)}" if handler.type is not None else ""
            lines += [f"except{kind}{f' as {handler.name}' if handler.name else ''}:"]
            lines += self.body(handler.body, INDENT)
        for word, part in (("else", statement.orelse), ("finally", statement.finalbody)):
            lines += [f"{word}:", *self.body(part, INDENT)] if part else []
        return lines

    def _item_of_page(self, value: ast.expr) -> str | None:
        """`yield {...}` whose values are all selected in the page."""
        fields = dict(self._fields(value, PAGE) or ())
        return f"return page.item({self._item_class(fields)})" if fields else None

    def _loop_of_items(self, loop: ast.For) -> str | None:
        """`for book in response.css(...): yield {...}`"""
        assert isinstance(loop.target, ast.Name)
        found = self._in_page(loop.iter)
        match loop.body:
            case [ast.Expr(value=ast.Yield(value=value))] if value is not None and found is not None:
                if found.gives_text or loop.orelse or not self._is_page_wide(found):
                    return None
                found.check(loop)
                self._names.kinds[loop.target.id] = NODE
                fields = dict(self._fields(value, NODE, loop.target.id) or ())
                return f"yield from page.each({found.text!r}, {self._item_class(fields)})" if fields else None
        return None

    def _loop_of_links(self, loop: ast.For) -> str | None:
        """`for link in response.css("a"): yield response.follow(link, ...)`"""
        assert isinstance(loop.target, ast.Name)
        found = self._in_page(loop.iter)
        match loop.body:
            case [ast.Expr(value=ast.Yield(value=ast.Call() as call))] if found is not None and not loop.orelse:
                Translate(self._names).loop_variable(loop.target, loop.iter)
                return self._followed(call, found, loop.target.id)
        return None

    def _followed(self, call: ast.Call, found: Selection, variable: str) -> str | None:
        """`yield from page.follow(...)` if the call requests the link in the variable, which occurs nowhere else."""
        if last_name(call.func) not in ("follow", "Request") or not self._is_page_wide(found):
            return None
        given = {one.arg: one.value for one in call.keywords if one.arg}
        given |= dict(zip(("url", "callback"), call.args, strict=False))
        url = given.pop("url", None)
        if url is None or len(call.args) > 2 or not self._is_link(url, variable) or _uses(variable, given.values()):
            return None
        made = Translate(self._names).follow(call, found.text, copy.deepcopy(given))
        return f"yield from {ast.unparse(ast.fix_missing_locations(made))}"

    def _is_link(self, url: ast.expr, variable: str) -> bool:
        match url:
            case ast.Name(id):
                return id == variable
            case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[]):
                return self._is_link(inner, variable)
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="urljoin"), args=[part]):
                return self._is_link(part, variable)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id), attr="attrib"), slice=ast.Constant("href")):
                return id == variable
        return False

    def _first_link(self, first: ast.stmt, then: ast.stmt, later: Sequence[ast.stmt]) -> str | None:
        """`next = response.css(...).get()` and `if next: yield response.follow(next)`."""
        match first, then:
            case (
                ast.Assign(targets=[ast.Name(id)], value=value),
                ast.If(test=test, body=[ast.Expr(value=ast.Yield(value=ast.Call() as call))], orelse=[]),
            ) if _is_given(test, id) and not _uses(id, later):
                taken = value_in(value)
                if taken is None or taken.many or taken.default is not None or taken.selection.pattern is not None:
                    return None
                if not self._is_page(taken.selection.base) or not taken.selection.gives_text:
                    return None
                self._names.kinds[id] = TEXT
                try:
                    made = self._followed(call, taken.selection, id)
                except Untranslatable:
                    return None
                return None if made is None else f"yield from list({made.removeprefix('yield from ')})[:1]"
        return None

    def _in_page(self, node: ast.expr) -> Selection | None:
        plain = Translate(self._names).without_alias(node)
        value = value_in(plain)
        found = value.selection if value is not None and value.many else selection_in(plain)
        return found if found is not None and found.pattern is None and self._is_page(found.base) else None

    def _is_page(self, base: ast.expr) -> bool:
        return isinstance(base, ast.Name) and self._names.kinds.get(base.id) == PAGE

    def _is_page_wide(self, found: Selection) -> bool:
        """Whether `page.each` and `page.follow` know what kind it is by how it is spelt."""
        return (found.kind == "xpath") == found.text.startswith(("/", "("))

    def _fields(self, value: ast.expr, kind: str, variable: str | None = None) -> Iterator[tuple[str, Value]] | None:
        """The fields of an item whose values are all selected in the same place; else None."""
        match value:
            case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
                pairs = [
                    (str(key.value), one)
                    for key, one in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant)
                ]
            case ast.Call(func=ast.Name(id), args=[], keywords=keywords) if id in self._names.items:
                pairs = [(str(one.arg), one.value) for one in keywords]
            case _:
                return None
        found = [(name, self._selected(one, kind, variable)) for name, one in pairs]
        if not found or not all(one is not None and _is_field(name) for name, one in found):
            return None
        return iter([(name, one) for name, one in found if one is not None])

    def _selected(self, node: ast.expr, kind: str, variable: str | None) -> Value | None:
        taken = value_in(Translate(self._names).without_alias(node))
        if taken is None or not isinstance(taken.selection.base, ast.Name):
            return None
        base = taken.selection.base.id
        is_here = base == variable if kind == NODE else self._names.kinds.get(base) == PAGE
        is_literal = taken.default is None or isinstance(taken.default, ast.Constant)
        found = taken.selection
        is_text = found.kind == "css" or found.gives_text or found.is_function
        if not (is_here and is_literal and is_text and found.elements):
            return None
        found.check(node)
        return taken

    def _item_class(self, fields: dict[str, Value]) -> str:
        """The name of a class with these fields, which is made unless there is one."""
        code = tuple((name, *_field_code(value)) for name, value in fields.items())
        for known in self._classes:
            if known.fields == code:
                return known.name
        base = "".join(part.title() for part in self._names.current.split("_")) + "Item"
        taken = {known.name for known in self._classes}
        name = next(
            name for number in range(1, 1000) if (name := base + (str(number) if number > 1 else "")) not in taken
        )
        self._classes.append(ItemClass(name, code))
        return name


def _field_code(value: Value) -> tuple[str, str]:
    found = value.selection
    # `.get()` of an element is its markup.
    is_markup = found.kind == "css" and not found.gives_text
    given = [repr(found.text + "::html" if is_markup else found.text)]
    given += [f"re={found.pattern!r}"] if found.pattern is not None else []
    given += [f"default={ast.unparse(value.default)}"] if value.default is not None else []
    kind = "list[str]" if value.many else "str" if _has_text(value.default) else "str | None"
    return kind, f"{found.kind}({', '.join(given)})"


def _has_text(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and isinstance(default.value, str)


def _is_field(name: str) -> bool:
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith(("_", "model_"))
    return usable and name not in _RESERVED


def _is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _is_given(test: ast.expr, name: str) -> bool:
    """`if x`, `if x is not None`"""
    match test:
        case ast.Name(id):
            return id == name
        case ast.Compare(left=ast.Name(id), ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            return id == name
    return False


def _uses(name: str, nodes: Any) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for node in nodes for part in ast.walk(node))
