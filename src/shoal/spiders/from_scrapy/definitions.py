"""Copies what a draft uses of the module and the class of the original: constants, functions and imports.

Code of the original that would run when the draft is loaded is not copied.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Iterator, Sequence

from shoal.spiders.from_scrapy.read_spider import Method, ScrapySpider

OF_SHOAL = frozenset(("Item", "Page", "css", "xpath", "spider", "page"))
_HARMLESS_CALLS = frozenset(("dict", "frozenset", "int", "list", "re.compile", "set", "str", "tuple"))
_HARMLESS_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.BitOr)


def copied_definitions(spider: ScrapySpider, parts: Sequence[str], needs: set[str]) -> list[str]:
    """Those that the parts use. `needs` gets imports of the standard library."""
    return _Definitions(spider, needs).used_by("\n".join(parts))


class _Definitions:
    def __init__(self, spider: ScrapySpider, needs: set[str]) -> None:
        self._spider = spider
        self._needs = needs
        assigned = (one for one in spider.module.body if isinstance(one, ast.Assign))
        named = {one.targets[0].id: one.value for one in assigned if isinstance(one.targets[0], ast.Name)}
        self._values = named | spider.attributes

    def used_by(self, code: str) -> list[str]:
        """Each after what it uses itself."""
        copied: list[str] = []
        known = {*dir(builtins), *OF_SHOAL, *_bound(code), *(line.rpartition(" ")[2] for line in self._needs)}

        def copy_all(code: str) -> None:
            for name in dict.fromkeys(loaded_names(code)):
                if name not in known:
                    known.add(name)
                    if (found := self._definition(name)) is not None:
                        copy_all(found)
                        copied.append(found)

        copy_all(code)
        return copied

    def _definition(self, name: str) -> str | None:
        if name in self._values:
            return self._constant(name, self._values[name])
        for node in self._spider.module.body:
            match node:
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    for alias in names:
                        if (alias.asname or alias.name.partition(".")[0]) == name:
                            return self._import(node, alias)
                case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                    return self._function(node)
        return None

    def _constant(self, name: str, value: ast.expr) -> str:
        if self._is_written_out(value, frozenset((name,))):
            return f"{name} = {ast.unparse(value)}"
        self._spider.note(value, f"{name} is not written out: say in the draft what it is")
        return f"# line {value.lineno}: {name} = {_first_line(value)}"

    def _is_written_out(self, node: ast.expr, of: frozenset[str] = frozenset()) -> bool:
        """`of`: the constants that are looked at already."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id):
                known = self._values.get(id) if id not in of else None
                return known is not None and self._is_written_out(known, of | {id})
            case ast.Call(func=func, args=args, keywords=[]) if ast.unparse(func) in _HARMLESS_CALLS:
                return all(self._is_written_out(one, of) for one in args)
            case ast.BinOp(op=operator) if not isinstance(operator, _HARMLESS_OPERATORS):
                return False
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.BinOp() | ast.UnaryOp():
                inner = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
                return all(self._is_written_out(one, of) for one in inner)
        return False

    def _function(self, node: Method) -> str:
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        if node.decorator_list or not all(map(self._is_written_out, defaults)):
            why = "it has decorators, or defaults that are not written out"
            self._spider.note(node, f"{node.name}() is not copied: {why}")
            return f"# line {node.lineno}: def {node.name}(...)"
        # Annotations are evaluated when the draft is loaded, and may need what it does not import.
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        head = f"{word} {node.name}({without_annotations(node.args)}): ..."
        (bare,) = ast.parse(head).body
        assert isinstance(bare, Method)
        bare.body = node.body
        return ast.unparse(bare)

    def _import(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str | None:
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        one = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(module, [alias], 0)
        is_relative = isinstance(node, ast.ImportFrom) and node.level > 0
        if not is_relative and module.partition(".")[0] in sys.stdlib_module_names:
            self._needs.add(ast.unparse(one))
            return None
        self._spider.note(node, f"{ast.unparse(node)}: put what the draft uses of it into the draft")
        return f"# line {node.lineno}: {ast.unparse(node)}"


def without_annotations(given: ast.arguments) -> str:
    bare = copy.deepcopy(given)
    for one in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg):
        if one is not None:
            one.annotation = None
    return ast.unparse(bare)


def loaded_names(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _bound(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=id, ctx=ast.Store()):
                yield id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name


def _first_line(value: ast.expr) -> str:
    return ast.unparse(value).partition("\n")[0]
