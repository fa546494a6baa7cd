"""A server of Google Cloud Storage's XML API on loopback, which is what obstore speaks, and the variables by which
clients find it.

No server of this API can be installed from a package index: the emulators there have Google's JSON API only. It differs
from S3 where clients notice it: requests carry a token signed by a service account, a missing object cannot be deleted,
and the entity tag of an object that was sent in parts is no MD5.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, islice
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_EMAIL = "crawler@project.iam.gserviceaccount.com"
_LISTED_AT_ONCE = 1_000
_PART_NUMBER = re.compile(r"<PartNumber>(\d+)</PartNumber>")
_MODIFIED = "Thu, 19 Nov 2026 12:00:00 GMT"


@dataclass
class Stored:
    data: bytes
    e_tag: str


@dataclass
class GoogleServer:
    endpoint: str
    account_key: rsa.RSAPrivateKey | None = None
    """If there is one, requests without a token signed by it are refused."""
    buckets: dict[str, dict[str, Stored]] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def new_bucket(self) -> str:
        """Its URL."""
        name = f"bucket-{next(self.numbers)}"
        self.buckets[name] = {}
        return f"gs://{name}"

    def env(self) -> dict[str, str]:
        """As with every emulator, requests are not signed."""
        return {"STORAGE_EMULATOR_HOST": self.endpoint}

    def write_credentials(self, file: Path) -> Path:
        """Those of a service account, which every request needs from now on."""
        self.account_key = rsa.generate_private_key(65537, 2048)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        account = {
            "type": "service_account",
            "client_email": _EMAIL,
            "private_key": self.account_key.private_bytes(*form).decode(),
            "private_key_id": "1",
        }
        file.write_text(json.dumps(account))
        return file

    def admits(self, authorization: str | None) -> bool:
        if self.account_key is None:
            return True
        token = (authorization or "").removeprefix("Bearer ")
        content, _, signature = token.rpartition(".")
        try:
            self.account_key.public_key().verify(
                _decoded(signature), content.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            return False
        return bool(json.loads(_decoded(content.partition(".")[2]))["iss"] == _EMAIL)


@contextmanager
def running_google(tls: ssl.SSLContext | None = None) -> Iterator[GoogleServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    google = GoogleServer(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = type("Handler", (_Handler,), {"google": google})
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield google
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Refusal(Exception):
    """A status, and the code of the error in the answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    google: GoogleServer

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        bucket, _, key = url.path.removeprefix("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        try:
            if not self.google.admits(self.headers.get("Authorization")):
                raise _Refusal(403, "AccessDenied")
            objects = self.google.buckets.get(unquote(bucket))
            if objects is None:
                raise _Refusal(404, "NoSuchBucket")
            if not key:
                self._answer(200, _listing(objects, query))
            else:
                getattr(self, f"_{self.command.lower()}")(objects, unquote(key), query, body)
        except _Refusal as refusal:
            status, code = refusal.args
            self._answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

    def _get(self, objects: dict[str, Stored], key: str, query: dict[str, str], body: bytes) -> None:
        found = _found(objects, key)
        data, status, about = found.data, 200, {"ETag": found.e_tag, "Last-Modified": _MODIFIED}
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or ""):
            first, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
            if first >= len(data):
                raise _Refusal(416, "InvalidRange")
            about["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        self._answer(status, data, about)

    _head = _get

    def _put(self, objects: dict[str, Stored], key: str, query: dict[str, str], body: bytes) -> None:
        e_tag = f'"{hashlib.md5(body).hexdigest()}"'
        if "uploadId" in query:
            self.google.uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            objects[key] = Stored(body, e_tag)
        self._answer(200, b"", {"ETag": e_tag})

    def _post(self, objects: dict[str, Stored], key: str, query: dict[str, str], body: bytes) -> None:
        if "uploads" in query:
            name = f"upload-{next(self.google.numbers)}"
            self.google.uploads[name] = {}
            return self._answer(200, _xml("InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>"))
        parts = self.google.uploads.pop(query["uploadId"])
        objects[key] = Stored(b"".join(parts[int(n)] for n in _PART_NUMBER.findall(body.decode())), '"COjKwAIQAQ=="')
        self._answer(200, _xml("CompleteMultipartUploadResult", f"<ETag>{objects[key].e_tag}</ETag>"))

    def _delete(self, objects: dict[str, Stored], key: str, query: dict[str, str], body: bytes) -> None:
        _found(objects, key)
        objects.pop(key, None)
        self._answer(204, b"")

    def _answer(self, status: int, content: bytes, about: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(about or {}), "x-goog-generation": "1"}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _found(objects: dict[str, Stored], key: str) -> Stored:
    if key not in objects:
        raise _Refusal(404, "NoSuchKey")
    return objects[key]


def _listing(objects: dict[str, Stored], query: dict[str, str]) -> bytes:
    after = query.get("continuation-token") or query.get("start-after") or ""
    keys = (key for key in sorted(objects) if key > after and key.startswith(query.get("prefix", "")))
    listed = list(islice(keys, int(query.get("max-keys", _LISTED_AT_ONCE)) + 1))
    more = len(listed) > int(query.get("max-keys", _LISTED_AT_ONCE))
    listed = listed[:-1] if more else listed
    entries = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-19T12:00:00Z</LastModified>"
        f"<ETag>{escape(objects[key].e_tag)}</ETag><Size>{len(objects[key].data)}</Size></Contents>"
        for key in listed
    )
    token = f"<NextContinuationToken>{escape(listed[-1])}</NextContinuationToken>" if more else ""
    return _xml("ListBucketResult", f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}")


def _xml(name: str, content: str) -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?><{name}>{content}</{name}>".encode()
