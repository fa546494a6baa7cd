"""The signature of what Shoal sends to other servers: webhooks, and batches of items."""

from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import sha256


def signature(secret: str, id: str, at: int, body: bytes) -> str:
    signed = f"{id}.{at}.".encode() + body
    key = secret.encode("utf-8", "surrogatepass")
    return f"v1,{b64encode(hmac.digest(key, signed, sha256)).decode()}"
