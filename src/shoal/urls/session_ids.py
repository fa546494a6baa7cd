"""Session ids in URLs. With them a page has as many URLs as visitors, and each link adds another.

Names that only sessions use always count. Others, such as `sid`, count only with a value that looks random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = "ASPSESSIONID"


def _however_cased(names: Iterable[str]) -> frozenset[str]:
    return frozenset(cased for name in names for cased in (name, name.lower(), name.upper()))


SURELY = _however_cased(("PHPSESSID", "JSESSIONID", "CFID", "CFTOKEN", "osCsid", "XTCsid", "zenid"))
PERHAPS = _however_cased(("sid", "sess", "sessid", "session", "sessionId", "sessionID", "SessionId", "session_id"))

_DRAWN_BY_LOT = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_MORE = r"(?:[A-Z]\([^()/]*\))*"
IN_PATH = {
    # Not after a dot: what is left could be a dot segment, which the parser would remove the next time.
    "jsessionid": re.compile(r"(?<!\.)(?:;jsessionid=[^/;]*)+", re.IGNORECASE),
    "ASP.NET_SessionId": re.compile(rf"/\({_MORE}S\([A-Za-z0-9]{{16,}}\){_MORE}\)(?=/)"),
}
"""/a;jsessionid=1 and /(S(1))/a, by the name with which a job keeps them."""


def looks_random(value: str) -> bool:
    return _DRAWN_BY_LOT.fullmatch(value) is not None
