"""Numbers as people write them: "£51.77", "1.234,50 €", "USD 1,299", "1 234,50", "(12.00)", "-5%", "1.899,-".

Signs, currencies, units and percent signs around the number are ignored. A text with several numbers is refused, unless
the first one is a price ("$ 281.40 $ 265.70" is 281.40), the others are in brackets ("4.5 (120 reviews)" is 4.5), it is
a share of the second ("4.5 out of 5" is 4.5), or says how many things the price is for ("3 issues for 10 €" is 10).
Which of point and comma separates the decimals:
- the caller may say so;
- with both, the last one does, and the other groups digits by three (or as in India: "12,34,567.00");
- one that occurs several times groups;
- one before exactly three digits groups where a value has fewer decimals ("129.900" is 129900 as an integer);
- without a currency, the page's language may say so for the rest ("129.900" on a German page is 129900);
- a comma before exactly three digits groups ("1,234" is 1234), unless a 0 is before it ("0,125");
- a point before exactly three digits groups in a price ("1.299 €" is 1299), and else is the decimal sign;
- any other is the decimal sign ("51,77" is 51.77).
Spaces of every kind and apostrophes group. Digits of every script count, also full-width ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from shoal.extract.currencies import cents_after, currency_beside, may_have_three_decimals

DECIMAL_SIGNS = (".", ",")
MAX_CHARS = 200
MAX_DIGITS = 100

_MINUS = str.maketrans("−–‒﹣－٫٬’＇．，", "-----.,''.,")
_NUMBER = re.compile(r"\d[\d.,' ]*+|(?<!\w)[.,]\d++")
# Most prices and counts ("14 in stock"), in 0.7 us instead of 5.
_EASY = re.compile(r"[$£€¥]?+ ?+(-?+\d{1,15}(?:\.\d{1,2})?+)(?: ?+[$£€¥%]| [a-zA-Z][a-zA-Z ]{0,40}+)?+")
_GROUPED = re.compile(r"\d{1,3}(?:([,.' ])\d{3})(?:\1\d{3})*|\d{1,2}(?:,\d\d)+,\d{3}|\d+")
_OPENED = re.compile(r"\s*\(\W{0,3}(?:[A-Z]{3})?\W{0,3}")
_GAP = re.compile(r"([\d.,' ]*\d)([.,]) (\d\d)")
_SHARE_OF = re.compile(r" ?% [^\W\d]")
"""As in `40% OFF`."""
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_OUT_OF = re.compile(r" ?\b(?:out of|of|von|sur|de|su|av|van|z|из|trên) \d[\d.,]*")
"""As in `4.5 out of 5`."""
_HOW_MANY = re.compile(r"(?: [^\W\d]+){1,3}? (?:for|für|pour|por|voor|za|за)((?: [^\W\d]+)? .*)")
"""As in `3 issues for only 14.85 EUR`. `2 for $5` is an offer, and neither number the price."""
_EXPONENT = re.compile(r"\s*[eE]([+-]?\d{1,3})(?![\w.,])")


@dataclass(frozen=True, slots=True)
class NumberSyntax:
    """What is known of a field's numbers before one is read."""

    decimal: str | None = None
    """The decimal sign, a point or a comma, as the field names it."""
    usual: str | None = None
    """That of the page's language."""
    places: int | None = None
    """How many decimals a value can have, if the field's type limits them."""


ANY_SYNTAX = NumberSyntax()


def number_in(text: str, syntax: NumberSyntax = ANY_SYNTAX) -> Decimal:
    """Raises ValueError with the reason."""
    if (easy := _EASY.fullmatch(text)) and not (syntax.decimal == "," and "." in text):
        return Decimal(easy[1])
    if len(text) > MAX_CHARS:
        raise ValueError(f"it has {len(text):,} characters, and a number at most {MAX_CHARS}")
    flat = " ".join("".join(map(_flattened, text.translate(_MINUS))).split())
    found = _NUMBER.search(flat)
    if not found:
        raise ValueError("it has no digit")
    before, after = flat[: found.start()], flat[found.end() :]
    if _SHARE_OF.match(after):
        raise ValueError("it is a percentage of something, not an amount")
    currency = currency_beside(before, after)
    if currency is None and not before and (price := _price_of_several(found[0] + after)):
        return number_in(price, syntax)
    written = found[0].rstrip(" '")
    number = _Written(
        digits=written.rstrip(".,").rstrip(" '"),
        ending=written[-1] if written[-1] in ".," else "",
        syntax=syntax,
        is_price=currency is not None,
        may_have_three_decimals=currency is not None and may_have_three_decimals(currency, after),
    )
    exponent = _EXPONENT.match(after)
    rest = after[exponent.end() :] if exponent else after
    if (cents := cents_after(after)) and number.digits.isdigit():
        value = Decimal(f"{number.digits}.{cents}")
    elif _has_another_number(rest) and (currency is None or rest[0] in ".,"):
        raise ValueError("it has more than one number")
    else:
        stands_alone = not before and not after
        value = Decimal(number.in_python(stands_alone)).scaleb(int(exponent[1]) if exponent else 0)
    # "5,-" is five without cents, not minus five.
    return -value if _is_negative(before, "" if number.ending else after) else value


def easy_numbers(texts: Sequence[str]) -> list[str]:
    """Each number in Python's syntax. Raises ValueError unless all are in the common form."""
    found = [easy[1] for easy in map(_EASY.fullmatch, texts) if easy]
    if len(found) != len(texts):
        raise ValueError("not all of them are plain numbers")
    return found


def _has_another_number(rest: str) -> bool:
    rest = _IN_BRACKETS.sub("", rest)
    if share := _OUT_OF.match(rest):
        rest = rest[share.end() :]
    return re.search(r"\d", rest) is not None


def _price_of_several(flat: str) -> str | None:
    how_many = _HOW_MANY.fullmatch(flat.lstrip("0123456789"))
    second = _NUMBER.search(how_many[1]) if how_many else None
    if how_many is None or second is None:
        return None
    return how_many[1] if currency_beside(how_many[1][: second.start()], how_many[1][second.end() :]) else None


def _flattened(char: str) -> str:
    """Converts digits and spaces of any script to ASCII, and removes invisible marks of writing direction."""
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


@dataclass(frozen=True, slots=True)
class _Written:
    digits: str
    """With points, commas, apostrophes and spaces."""
    ending: str
    """A point or comma behind the last digit."""
    syntax: NumberSyntax
    is_price: bool
    may_have_three_decimals: bool
    """It is a price of a kind that may have them."""

    def in_python(self, stands_alone: bool) -> str:
        whole, fraction = self._parts(self._without_gap(stands_alone))
        if not _GROUPED.fullmatch(whole):
            raise ValueError("its digits are not grouped by three")
        plain = re.sub(r"\D", "", whole)
        if len(plain) + len(fraction) > MAX_DIGITS:
            raise ValueError(f"it has more than {MAX_DIGITS} digits")
        return f"{plain}.{fraction}" if fraction else plain

    def _without_gap(self, stands_alone: bool) -> str:
        """Closes a gap before the cents, as in `$ 8. 94`. Elsewhere it may be a list, as in `1. 25 apples`."""
        gap = _GAP.fullmatch(self.digits)
        if gap and (self.is_price or (stands_alone and gap[2] == ".")):
            return "".join(gap.groups())
        return self.digits

    def _parts(self, digits: str) -> tuple[str, str]:
        """The whole part, with its grouping signs, and the decimals."""
        decimal = self.syntax.decimal
        at = digits.rfind(decimal) if decimal else max(digits.rfind("."), digits.rfind(","))
        if at < 0:
            return digits, ""
        sign, whole, fraction = digits[at], digits[:at], digits[at + 1 :]
        if not fraction.isdigit():
            # A space or apostrophe after the last point or comma: it groups as well.
            raise ValueError("its digits are not grouped by three")
        if sign in whole or (decimal is None and self._groups(sign, whole, fraction)):
            return digits, ""
        return whole or "0", fraction

    def _groups(self, sign: str, whole: str, fraction: str) -> bool:
        """Whether the only sign groups digits."""
        if self.ending and self.ending != sign:
            return True
        if len(fraction) != 3 or not whole.isdigit() or whole[0] == "0" or len(whole) > 3:
            return False
        if self.may_have_three_decimals:
            return sign == ","
        if self.is_price or self._has_few_places:
            return True
        return sign != (self.syntax.usual or ".")

    @property
    def _has_few_places(self) -> bool:
        return self.syntax.places is not None and self.syntax.places < 3
