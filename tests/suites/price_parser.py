"""The examples in the tests of price-parser: texts from real pages, and the amounts that people read in them.

They are read as a field with `type: decimal(12,2)` is, which fits a price. Cases that price-parser itself fails count
too, but not texts that are only a currency.
"""

from __future__ import annotations

import ast
from decimal import Decimal
from pathlib import Path
from typing import Any

from shoal.extract.parse_numbers import NumberSyntax, number_in
from tests.suites.suite import Result


def run(checkout: Path) -> Result:
    result = Result()
    tree = ast.parse((checkout / "tests" / "test_price_parsing.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for call in ast.walk(node.value):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "Example":
                    _check(call, result)
    return result


def _check(call: ast.Call, result: Result) -> None:
    text, amount = _value(call.args[1]), _value(call.args[4])
    decimal = _value(call.args[5]) if len(call.args) > 5 else None
    is_currency_only = amount == 1 and not any(char.isdigit() for char in text or "")
    if text is None or is_currency_only or decimal not in (None, ".", ","):
        return
    try:
        found = number_in(text, NumberSyntax(decimal, places=2))
    except ValueError:
        found = None
    expected = None if amount is None else Decimal(str(amount))
    result.note(found == expected, f"{text!r}: expected {expected}, found {found}")


def _value(node: ast.expr) -> Any:
    """A literal, or a Decimal of one."""
    return ast.literal_eval(node.args[0] if isinstance(node, ast.Call) else node)
