"""How a job checks certificates: by the usual authorities, by its own, or not at all.

Jobs with different policies never share a connection or a TLS session, because each policy has a Fetcher of its own.
"""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import certifi
import pycurl

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.model import JobSpec

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
_MOST_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class TlsPolicy:
    insecure: bool = False
    ca_certificates: str | None = None
    """PEM text of the authorities to trust instead of the usual ones."""

    @classmethod
    def of(cls, spec: JobSpec) -> TlsPolicy:
        return cls(spec.insecure, spec.ca_certificates)

    @property
    def is_usual(self) -> bool:
        return not self.insecure and self.ca_certificates is None

    def curl_options(self) -> list[tuple[int, Any]]:
        if self.insecure:
            verify = pycurl.SSL_VERIFYPEER, pycurl.SSL_VERIFYHOST, pycurl.PROXY_SSL_VERIFYPEER
            return [(option, 0) for option in (*verify, pycurl.PROXY_SSL_VERIFYHOST)]
        if self.ca_certificates is not None:
            trusted = self.ca_certificates.encode()
            return [(pycurl.CAINFO_BLOB, trusted), (pycurl.PROXY_CAINFO_BLOB, trusted)]
        usual = _authorities()
        return [(pycurl.CAINFO, usual), (pycurl.PROXY_CAINFO, usual)]

    def context(self) -> ssl.SSLContext:
        """The same policy for connections that libcurl does not make."""
        if self.ca_certificates is not None:
            return ssl.create_default_context(cadata=self.ca_certificates)
        context = ssl.create_default_context(cafile=_authorities())
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


USUAL = TlsPolicy()


def read_certificates(text: str) -> str:
    """The certificates of a PEM text, without a private key that stands among them. Raises UsageError."""
    found = "\n".join(_CERTIFICATE.findall(text))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError) as error:
        why = getattr(error, "reason", None) or "none found"
        raise UsageError(f"ca_file has no certificates that can be read ({why}): give them as PEM") from None
    if len(found) > _MOST_CHARS:
        raise UsageError(f"ca_file has {len(found):,} characters of certificates; give at most {_MOST_CHARS:,}")
    return found + "\n"


def _authorities() -> str:
    """The usual authorities. OpenSSL, curl and Python use SSL_CERT_FILE too."""
    given = os.environ.get("SSL_CERT_FILE")
    if given and not os.access(given, os.R_OK):
        raise UsageError(f"cannot read SSL_CERT_FILE {given!r}: name a file of certificates, or unset it")
    return given or certifi.where()
