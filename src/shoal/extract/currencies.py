"""Currency signs and codes as shops write them next to a price."""

from __future__ import annotations

import re

_SIGNS = "$¢£¤¥֏؋৳฿៛₠₡₢₣₤₥₦₧₨₩₪₫€₭₮₯₰₱₲₳₴₵₸₹₺₻₼₽₾₿﷼﹩＄￠￡￥￦"
_CODES = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTC BTN BWP BYN BZD CAD CDF "
    "CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL "
    "HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL "
    "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON "
    "RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS "
    "UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL"
)
_WORDS = "zł kr Kč Ft TL Rp RM lei руб р грн лв ден дин din đ Rs Dhs Fr SFr Lt Ls kn KM KSh Tk Bs KD JD BD DT"
_THREE_DECIMALS = re.compile(r"BHD|BD|IQD|JOD|JD|KWD|KD|LYD|OMR|TND|DT|£", re.IGNORECASE)
_NAMES = "|".join(f"{_CODES} {_WORDS}".split())
_CURRENCY = rf"(?:[A-Z]{{0,3}}[{_SIGNS}]|(?:{_NAMES})(?!\w))"
_BEFORE = re.compile(rf"(?:^|(?<!\w))({_CURRENCY})[.:]? ?-? ?$|([{_SIGNS}])[.:]? ?-? ?$")
_AFTER = re.compile(rf" ?({_CURRENCY})")
_CENTS = re.compile(rf" ?[{_SIGNS.replace('$', '').replace('£', '')}] ?(\d\d)$")
"""As in `35€ 99`."""


def currency_beside(before: str, after: str) -> str | None:
    """The currency directly before or after a number, if there is one."""
    if found := _BEFORE.search(before):
        return found[1] or found[2]
    found = _AFTER.match(after)
    return found[1] if found else None


def may_have_three_decimals(currency: str, after: str) -> bool:
    """Whether `1.250` may be one and a quarter: in some currencies, or per unit, as fuel is sold (`1.799 €/l`)."""
    # British shops write thousands as 1,250.
    return "/" in after or _THREE_DECIMALS.search(currency) is not None


def cents_after(after: str) -> str | None:
    """The two digits of cents behind a sign that replaces the decimal point."""
    found = _CENTS.match(after)
    return found[1] if found else None
