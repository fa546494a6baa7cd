"""Rewrites common patterns in callbacks in a simpler form, before they are translated: a nested function that only
returns an expression, an item loader, and an item that is filled field by field."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from shoal.spiders.from_scrapy.read_spider import last_name

Say = Callable[[ast.AST, str], None]


def simplified(body: Sequence[ast.stmt], say: Say) -> list[ast.stmt]:
    """`say` gets what is lost on the way."""
    return _with_whole_items(_without_loaders(_without_functions(body), say))


def _without_functions(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Each call of such a function becomes its expression."""
    functions = {one.name: one for one in body if isinstance(one, ast.FunctionDef) and _is_expression(one)}
    if not functions:
        return list(body)
    rest = [one for one in body if not (isinstance(one, ast.FunctionDef) and one.name in functions)]
    return [_Inline(functions).visit(copy.deepcopy(one)) for one in rest]


def _is_expression(function: ast.FunctionDef) -> bool:
    given = function.args
    plain = not (given.defaults or given.vararg or given.kwarg or given.kwonlyargs or function.decorator_list)
    return plain and len(function.body) == 1 and isinstance(function.body[0], ast.Return)


class _Inline(ast.NodeTransformer):
    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self._functions = functions

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = self._functions.get(last_name(node.func)) if isinstance(node.func, ast.Name) else None
        if function is None or node.keywords or len(node.args) != len(function.args.args):
            return node
        returned = function.body[0]
        assert isinstance(returned, ast.Return) and returned.value is not None
        values = dict(zip([one.arg for one in function.args.args], node.args, strict=True))
        made: ast.expr = _Replace(values).visit(copy.deepcopy(returned.value))
        return ast.copy_location(made, node)


class _Replace(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self._values.get(node.id, node))


def _without_loaders(body: Sequence[ast.stmt], say: Say) -> list[ast.stmt]:
    """What a loader selects becomes an item with these fields."""
    made: list[ast.stmt] = []
    rest = list(body)
    while rest:
        statement = rest.pop(0)
        match statement:
            case ast.Assign(targets=[ast.Name(loader)], value=ast.Call() as call) if _loads(call):
                length, item = _loaded(loader, call, rest)
                if item is not None:
                    say(statement, "the processors of the item loader: each field has the first text that is found")
                    made.append(ast.copy_location(item, statement))
                    rest = rest[length:]
                    continue
            case ast.For() | ast.If():
                statement = copy.copy(statement)
                statement.body = _without_loaders(statement.body, say)
        made.append(statement)
    return made


def _loads(call: ast.Call) -> bool:
    return last_name(call.func).endswith("Loader")


def _loaded(loader: str, call: ast.Call, rest: Sequence[ast.stmt]) -> tuple[int, ast.stmt | None]:
    """How many statements fill the loader and yield its item, and what they yield; None if they do more."""
    given = {one.arg: one.value for one in call.keywords}
    place = given.get("selector") or given.get("response")
    fields: dict[str, ast.expr] = {}
    for number, statement in enumerate(rest, 1):
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id), attr=method),
                    args=[ast.Constant(str(name)), value],
                    keywords=[],
                )
            ) if id == loader and place is not None:
                if method in ("add_css", "add_xpath"):
                    chain = ast.Call(ast.Attribute(place, method.removeprefix("add_"), ast.Load()), [value], [])
                    value = ast.Call(ast.Attribute(chain, "get", ast.Load()), [], [])
                elif method != "add_value":
                    return 0, None
                # Of several selectors of a field the first that finds something counts.
                fields[name] = ast.BoolOp(ast.Or(), [fields[name], value]) if name in fields else value
            case ast.Expr(value=ast.Yield(value=value)) if value is not None and _is_item(value, loader):
                return number, ast.Expr(ast.Yield(_dict(fields)))
            case ast.Return(value=value) if value is not None and _is_item(value, loader):
                return number, ast.Return(_dict(fields))
            case _:
                return 0, None
    return 0, None


def _is_item(value: ast.expr, loader: str) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id), attr="load_item")):
            return id == loader
    return False


def _dict(fields: dict[str, ast.expr]) -> ast.Dict:
    return ast.Dict([ast.Constant(name) for name in fields], list(fields.values()))


def _with_whole_items(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`item = {}`, `item["a"] = ...` and `yield item`, with other assignments between: `yield {"a": ...}`."""
    made: list[ast.stmt] = []
    rest = list(body)
    while rest:
        statement = rest.pop(0)
        match statement:
            case ast.Assign(targets=[ast.Name(item)], value=value) if (fields := _empty_item(value)) is not None:
                if (found := _filled(item, fields, rest)) is not None:
                    others, ending, rest = found
                    made += [*others, ending]
                    continue
            case ast.For() | ast.If():
                statement = copy.copy(statement)
                statement.body = _with_whole_items(statement.body)
        made.append(statement)
    return made


def _empty_item(value: ast.expr) -> dict[str, ast.expr] | None:
    match value:
        case ast.Dict(keys=[]):
            return {}
        case ast.Call(func=ast.Name(name), args=[], keywords=[]) if name == "dict" or name.endswith("Item"):
            return {}
    return None


def _filled(
    item: str, fields: dict[str, ast.expr], rest: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], ast.stmt, list[ast.stmt]] | None:
    """Other statements, what yields the item, and what follows. None if more happens to the item."""
    others: list[ast.stmt] = []
    for number, statement in enumerate(rest, 1):
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id), slice=ast.Constant(str(name)))], value=value):
                if id != item or _mentions(item, value):
                    return None
                fields[name] = value
            case ast.Expr(value=ast.Yield(value=ast.Name(id))) | ast.Return(value=ast.Name(id)) if id == item:
                later = list(rest[number:])
                if not fields or any(_mentions(item, one) for one in later):
                    return None
                whole = _dict(fields)
                ending = ast.Return(whole) if isinstance(statement, ast.Return) else ast.Expr(ast.Yield(whole))
                return others, ast.copy_location(ending, statement), later
            case ast.Assign(targets=[ast.Name(id)], value=value) if id != item and not _mentions(item, value):
                if any(_mentions(id, one) for one in fields.values()):
                    # A field was taken from what the variable was before.
                    return None
                others.append(statement)
            case _:
                return None
    return None


def _mentions(name: str, node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
