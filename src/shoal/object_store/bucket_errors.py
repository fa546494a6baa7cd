"""Turns an error of obstore into one of Shoal's, in words that say what happened and what to do.

obstore's own text has the whole request and a dump of its structures.
"""

from __future__ import annotations

import re

from shoal.errors import ObjectMissing, ObjectStoreAway, ObjectStoreRefused, Unavailable
from shoal.object_store.object_url import AUTHORITIES, ENDPOINTS

_STATUS = re.compile(r"non-2xx status code: (\d{3})([^:\n<]*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_SYSTEM = re.compile(r'message: "([^"]+)"')
_NOT_FOUND, _FORBIDDEN, _UNAUTHORIZED = "404", "403", "401"
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile (AWS_PROFILE)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_KEY or AZURE_CLIENT_ID",
}
_OF_THE_ROLE = ("/latest/api/token", "/latest/meta-data/iam/", "/computeMetadata/v1/", "/metadata/identity/oauth2/")
"""Addresses that give the credentials of a machine's role, which are asked for where there are no others."""
_REASONS = (
    ("certificate", "its certificate is not trusted: {authority} names a file with the CA's"),
    ("dns error", "its name is not known: check {endpoint}"),
    ("operation timed out", "it did not answer in time"),
    ("TimedOut", "it did not answer in time"),
    ("kind: Timeout", "it did not answer in time"),
    ("connection closed", "it closed the connection"),
    ("IncompleteMessage", "it closed the connection"),
)


def translate(error: Exception, url: str) -> Unavailable:
    """The URL begins with the scheme of the bucket's provider."""
    text, scheme = str(error), url.partition("://")[0]
    status, code = _STATUS.search(text), _CODE.search(text)
    name = code[1] if code else ""
    if any(mark in text for mark in _OF_THE_ROLE):
        # Before the status, which is that of the server of credentials, not of the store.
        return ObjectStoreRefused(f"{url}: no credentials were found: {_check(scheme)}")
    if name in _NO_BUCKET:
        return ObjectStoreRefused(f"{url}: there is no such bucket: create it, or correct the URL")
    if isinstance(error, FileNotFoundError) or (status and status[1] == _NOT_FOUND):
        return ObjectMissing(url)
    if status and status[1] in (_FORBIDDEN, _UNAUTHORIZED):
        return ObjectStoreRefused(f"{url}: the store refuses access ({status[1]} {name or 'denied'}): {_check(scheme)}")
    if status:
        said = f"{status[1]}{status[2].rstrip()}" + (f" ({name})" if name else "")
        return ObjectStoreAway(f"{url}: the store answered {said}; try again later")
    if "credential" in text.lower():
        return ObjectStoreRefused(f"{url}: no credentials were found: {_check(scheme)}")
    return ObjectStoreAway(f"{url}: the store cannot be reached: {_reason(text, scheme)}")


def _check(scheme: str) -> str:
    return f"check the credentials: {_CREDENTIALS[scheme]}, or the role of this machine; and what they may do there"


def _reason(text: str, scheme: str) -> str:
    """Why no answer came: one of the known reasons, the system's words, or the first line without its address."""
    for mark, reason in _REASONS:
        if mark.lower() in text.lower():
            return reason.format(authority=" or ".join(AUTHORITIES[scheme]), endpoint=ENDPOINTS[scheme])
    found = _SYSTEM.search(text)
    if found:
        return found[1]
    first = text.partition("\n")[0]
    return first.rpartition(" - ")[2][:200]
