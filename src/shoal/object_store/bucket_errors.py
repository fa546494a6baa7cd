"""Turns an error of obstore into one of Shoal's, in words that say what happened and what to do.

obstore's own text has the whole request and a dump of its structures.
"""

from __future__ import annotations

import re

from shoal.errors import ObjectMissing, ObjectStoreAway, ObjectStoreRefused, Unavailable

_STATUS = re.compile(r"non-2xx status code: (\d{3})([^:\n<]*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_SYSTEM = re.compile(r'message: "([^"]+)"')
_NOT_FOUND, _FORBIDDEN, _UNAUTHORIZED = "404", "403", "401"
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_CREDENTIALS = (
    "check the credentials: the provider's variables (for S3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), its profile "
    "files (AWS_PROFILE), or the role of this machine; and what they may do there"
)
_REASONS = (
    ("certificate", "its certificate is not trusted: AWS_CA_BUNDLE or SSL_CERT_FILE names a file with the CA's"),
    ("dns error", "its name is not known: check AWS_ENDPOINT_URL"),
    ("operation timed out", "it did not answer in time"),
    ("TimedOut", "it did not answer in time"),
    ("kind: Timeout", "it did not answer in time"),
    ("connection closed", "it closed the connection"),
    ("IncompleteMessage", "it closed the connection"),
)


def translate(error: Exception, url: str) -> Unavailable:
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    name = code[1] if code else ""
    if name in _NO_BUCKET:
        return ObjectStoreRefused(f"{url}: there is no such bucket: create it, or correct the URL")
    if isinstance(error, FileNotFoundError) or (status and status[1] == _NOT_FOUND):
        return ObjectMissing(url)
    if status and status[1] in (_FORBIDDEN, _UNAUTHORIZED):
        return ObjectStoreRefused(f"{url}: the store refuses access ({status[1]} {name or 'denied'}): {_CREDENTIALS}")
    if status:
        said = f"{status[1]}{status[2].rstrip()}" + (f" ({name})" if name else "")
        return ObjectStoreAway(f"{url}: the store answered {said}; try again later")
    if "credential" in text.lower() or "169.254." in text:
        return ObjectStoreRefused(f"{url}: no credentials were found: {_CREDENTIALS}")
    return ObjectStoreAway(f"{url}: the store cannot be reached: {_reason(text)}")


def _reason(text: str) -> str:
    """Why no answer came: one of the known reasons, the system's words, or the first line without its address."""
    for mark, reason in _REASONS:
        if mark.lower() in text.lower():
            return reason
    found = _SYSTEM.search(text)
    if found:
        return found[1]
    first = text.partition("\n")[0]
    return first.rpartition(" - ")[2][:200]
