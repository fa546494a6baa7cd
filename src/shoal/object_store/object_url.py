"""URLs of object stores: s3://bucket/key, gs://bucket/key, az://container/key and file:///path."""

from __future__ import annotations

import re
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

from shoal.errors import UsageError

ENDPOINTS = {"s3": "AWS_ENDPOINT_URL", "gs": "STORAGE_EMULATOR_HOST", "az": "AZURE_STORAGE_ENDPOINT"}
"""The schemes of buckets, and the variable that names another server."""
AUTHORITIES = {"s3": ("AWS_CA_BUNDLE", "SSL_CERT_FILE"), "gs": ("SSL_CERT_FILE",), "az": ("SSL_CERT_FILE",)}
"""The variables that name a file with the certificates of an authority, the first one first."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")


class ObjectUrl(NamedTuple):
    scheme: str
    bucket: str
    """Empty for a local folder."""
    key: str
    """Without a slash at its begin; for a local folder the absolute path."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UsageError, without what may be a secret."""
        scheme, separator, rest = text.partition("://")
        if separator and scheme == "file":
            return cls(scheme, "", _local_path(text))
        if not separator or scheme not in ENDPOINTS:
            raise UsageError(f"{masked(text)} is not the URL of an object store: give {', '.join(_EXAMPLES)}")
        if "@" in rest.partition("/")[0]:
            raise UsageError(
                f"{masked(text)}: leave credentials out of the URL; the provider's own variables and files have them"
            )
        if "?" in rest or "#" in rest:
            variable = ENDPOINTS[scheme]
            raise UsageError(f"{masked(text)}: a bucket's URL has no ? and no #; {variable} names another server")
        bucket, _, key = rest.partition("/")
        if not _NAME.fullmatch(bucket):
            raise UsageError(f"{text}: {bucket!r} cannot be the name of a bucket: give {scheme}://bucket/prefix")
        return cls(scheme, bucket, _checked_key(text, key))

    def __str__(self) -> str:
        return f"file://{self.key}" if self.scheme == "file" else f"{self.scheme}://{self.bucket}/{self.key}"

    def split(self) -> tuple[str, str]:
        """The URL of the folder, and the last part of the key: empty for a URL that ends with a slash."""
        folder, _, name = self.key.rpartition("/")
        return str(self._replace(key=folder or ("/" if self.scheme == "file" else ""))), name


_EXAMPLES = ("s3://bucket/prefix", "gs://bucket/prefix", "az://container/prefix", "file:///path")


def is_bucket_url(text: str) -> bool:
    return text.partition("://")[0] in ENDPOINTS and "://" in text


def is_object_url(text: str) -> bool:
    return is_bucket_url(text) or text.startswith("file://")


def masked(url: str) -> str:
    """The URL for messages: without user, password and the values of its query."""
    head, _, query = url.partition("?")
    shown = re.sub(r"(://)[^/]*@", r"\1***@", head)
    return f"{shown}?{re.sub(r'=[^&]*', '=***', query)}" if query else shown


def _checked_key(text: str, key: str) -> str:
    parts = key.removesuffix("/").split("/") if key else []
    if any(part in ("", ".", "..") for part in parts) or not key.isprintable():
        raise UsageError(f"{text}: the key has an empty part, . or .., or an unprintable character: name it plainly")
    return key


def _local_path(text: str) -> str:
    parts = urlsplit(text)
    path = unquote(parts.path)
    if parts.netloc or not path.startswith("/") or not path.strip("/") or "\0" in path:
        raise UsageError(f"{masked(text)}: give an absolute path, file:///path")
    return path
