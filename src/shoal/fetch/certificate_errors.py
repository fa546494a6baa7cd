"""Why a certificate was refused, in words: the reason, and what the certificate says about itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

_EXPIRED, _NOT_YET, _SELF_SIGNED = 10, 9, 18
_UNTRUSTED_ROOT = 19
_UNKNOWN_ISSUER = frozenset({2, 20, 21})
_WRONG_HOST = re.compile(r"(subject|common) name")
_MOST_NAMES = 3
_MOST_CHARS = 200

Certificate = Sequence[tuple[str, str]]
"""Names and values, as libcurl gives them."""


def refusal(code: int, message: str, host: str, certificate: Certificate) -> str:
    """`code` is OpenSSL's, and `message` is libcurl's; `certificate` may be empty."""
    says = dict(certificate)
    subject, issuer = _name(says.get("Subject")), _name(says.get("Issuer"))
    of = f" of {subject}" if subject else ""
    by = f", issued by {issuer}" if issuer else ""
    if _WRONG_HOST.search(message):
        # libcurl itself compares the names with the host.
        names = _hosts(says.get("X509v3 Subject Alternative Name"))
        return f"the certificate{of}{by}, is not for {host}{f' but for {names}' if names else ''}"
    if code == _EXPIRED:
        return f"the certificate{of}{by}, has expired{_day(' on', says.get('Expire date'))}"
    if code == _NOT_YET:
        return f"the certificate{of}{by}, is not valid{_day(' before', says.get('Start date')) or ' yet'}"
    if code == _SELF_SIGNED:
        return f"the certificate{of} is self-signed, and no authority vouches for it"
    if code == _UNTRUSTED_ROOT:
        return f"the certificate{of}{by}, ends at a self-signed authority that is not trusted here"
    if code in _UNKNOWN_ISSUER:
        return f"the certificate{of} has an unknown issuer{f': {issuer}' if issuer else ''}"
    return f"the certificate{of}{by}, was refused: {message.rpartition(': ')[2]}"


def _name(spelt: str | None) -> str:
    """The common name, or else everything: `C = US, O = Example, CN = www.example.com`."""
    parts = [part.partition("=") for part in (spelt or "").split(", ")]
    common = [value.strip() for name, _, value in parts if name.strip() == "CN"]
    return (common[-1] if common else (spelt or ""))[:_MOST_CHARS]


def _day(word: str, spelt: str | None) -> str:
    try:
        return f"{word} {datetime.strptime(spelt or '', '%b %d %H:%M:%S %Y GMT').replace(tzinfo=UTC):%Y-%m-%d}"
    except ValueError:
        return f"{word} {spelt}" if spelt else ""


def _hosts(spelt: str | None) -> str:
    """`DNS:a.example, IP Address:127.0.0.1` without the kinds."""
    names = [part.partition(":")[2].strip()[:_MOST_CHARS] for part in (spelt or "").split(",") if ":" in part]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
