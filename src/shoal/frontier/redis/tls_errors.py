"""Explains why a TLS connection to a server failed, and what to change in the server's URL."""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Iterator

_EXPIRED = 10
_OTHER_NAME = (62, 64)
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""


def tls_fault(error: BaseException, setting: str) -> str | None:
    """Explains a TLS error in the connection to the server that `setting` names. None if it was another error."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"certificate verify failed: {cause.verify_message.rstrip('.')}: {_advice(cause, setting)}"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            reason = cause.reason.replace("_", " ").lower()
            return f"TLS failed: {reason}: check that the server uses TLS on this port, and ssl_… in {setting}"
    return None


def missing_file(error: BaseException, setting: str) -> str | None:
    """Explains a URL that names a file which is missing or cannot be read. None if it was another error."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in (errno.ENOENT, errno.EACCES, errno.EISDIR):
            files = f"the files of ssl_ca_certs, ssl_certfile and ssl_keyfile in {setting}"
            return f"{os.strerror(cause.errno)}: check {files}"
    return None


def _advice(cause: ssl.SSLCertVerificationError, setting: str) -> str:
    if cause.verify_code in _OTHER_NAME:
        return f"in {setting}, use the server name that its certificate has"
    if cause.verify_code == _EXPIRED:
        return "renew the server's certificate"
    return f"name the file of the CA that signed it in {setting}, as in rediss://host:6379/0?ssl_ca_certs=/path/ca.pem"


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
