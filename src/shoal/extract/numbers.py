"""Numbers as people write them: "£51.77", "1.234,50 €", "USD 1,299", "1 234,50", "(12.00)", "-5%".

Signs, currencies, units and percent signs around the number fall away; a text with two numbers is refused. Which of
point and comma parts the decimals:
- with both, the last one does, and the other groups digits by three (or as in India: "12,34,567.00");
- one that stands several times groups;
- a lone comma before exactly three digits groups ("1,234" is 1234), unless a 0 stands before it ("0,125");
- any other lone one is the decimal sign ("1.234" is 1.234, "51,77" is 51.77).
Spaces of every kind and apostrophes group; digits of every script count, also full-width ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

MAX_CHARS = 200
MAX_DIGITS = 100

_MINUS = str.maketrans("−–‒﹣－٫٬’＇．，", "-----.,''.,")
_NUMBER = re.compile(r"\d[\d.,' ]*+|(?<!\w)[.,]\d++")
# Most prices and counts ("14 in stock"), in 0.7 us instead of 5.
_EASY = re.compile(r"[$£€¥]?+ ?+(-?+\d{1,15}(?:\.\d{1,2})?+)(?: ?+[$£€¥%]| [a-zA-Z][a-zA-Z ]{0,40}+)?+")
_GROUPED = re.compile(r"\d{1,3}(?:([,.' ])\d{3})(?:\1\d{3})*|\d{1,2}(?:,\d\d)+,\d{3}|\d+")
_OPENED = re.compile(r"\s*\(\W{0,3}(?:[A-Z]{3})?\W{0,3}")
_EXPONENT = re.compile(r"\s*[eE]([+-]?\d{1,3})(?![\w.,])")


def number_in(text: str) -> Decimal:
    """Raises ValueError, saying why."""
    if easy := _EASY.fullmatch(text):
        return Decimal(easy[1])
    if len(text) > MAX_CHARS:
        raise ValueError("it is too long for a number")
    flat = " ".join("".join(map(_flattened, text.translate(_MINUS))).split())
    found = _NUMBER.search(flat)
    if not found:
        raise ValueError("it holds no digit")
    before, digits, after = flat[: found.start()], found[0].rstrip(" .,'"), flat[found.end() :]
    exponent = _EXPONENT.match(after)
    if re.search(r"\d", after[exponent.end() :] if exponent else after):
        raise ValueError("it holds more than one number")
    value = Decimal(_plain(digits)).scaleb(int(exponent[1])) if exponent else Decimal(_plain(digits))
    # "5,-" is five, without cents.
    return -value if _is_negative(before, "" if found[0].endswith((".", ",")) else after) else value


def easy_numbers(texts: Sequence[str]) -> list[str]:
    """Of each the number, spelt as Python spells it; raises ValueError unless all are written as most are."""
    found = [easy[1] for easy in map(_EASY.fullmatch, texts) if easy]
    if len(found) != len(texts):
        raise ValueError("not all of them are plain numbers")
    return found


def _flattened(char: str) -> str:
    """ASCII for digits and spaces of any script; invisible signs of writing direction fall away."""
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) == "Cf" else char


def _is_negative(before: str, after: str) -> bool:
    # As accountants write it, "(12.00)" or "(USD 12.00)", but not "In stock (14)".
    if _OPENED.fullmatch(before) and after.lstrip(" %").startswith(")"):
        return True
    # "-5", "- $5", "$-5" and "5-", but not "a-5" or "2026-11".
    return re.search(r"(?:^|[^\w])-\s*[^\w\s]{0,3}\s*(?:[A-Z]{3}\s*)?$", " " + before) is not None or after == "-"


def _plain(digits: str) -> str:
    whole, fraction = _parted(digits)
    if not _GROUPED.fullmatch(whole):
        raise ValueError("its digits are not grouped by three")
    plain = re.sub(r"\D", "", whole)
    if len(plain) + len(fraction) > MAX_DIGITS:
        raise ValueError(f"it has more than {MAX_DIGITS} digits")
    return f"{plain}.{fraction}" if fraction else plain


def _parted(digits: str) -> tuple[str, str]:
    at = max(digits.rfind("."), digits.rfind(","))
    if at < 0:
        return digits, ""
    sign, whole, fraction = digits[at], digits[:at], digits[at + 1 :]
    if not fraction.isdigit():
        # A space or apostrophe behind the last point or comma: it groups as well.
        raise ValueError("its digits are not grouped by three")
    if sign in whole:
        return digits, ""
    groups = sign == "," and len(fraction) == 3 and whole.isdigit() and whole.strip("0") != "" and whole[0] != "0"
    return (digits, "") if groups and len(whole) <= 3 else (whole or "0", fraction)
