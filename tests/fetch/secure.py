"""A certificate authority of its own, and an HTTP/2 site behind it."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

from tests.fetch.site import Site


@dataclass
class Authority:
    ca_file: str
    context: ssl.SSLContext


def make_authority(directory: Path) -> Authority:
    """A self-signed certificate for 127.0.0.1 that is its own authority."""
    return certify(directory)


def certify(
    directory: Path,
    *,
    subject: str = "shoal tests",
    issuer: str | None = None,
    address: str = "127.0.0.1",
    valid: tuple[int, int] = (-1, 1),
    issuer_url: str = "",
) -> Authority:
    """A certificate for an address, `valid` from and until so many days from now. One with an issuer is signed by a key
    that nobody has seen; the others sign themselves. `issuer_url` says where the issuer's certificate could be had."""
    directory.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer or subject)]
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=valid[0]))
        .not_valid_after(now + datetime.timedelta(days=valid[1]))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    if issuer_url:
        place = x509.UniformResourceIdentifier(issuer_url)
        access = x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, place)
        builder = builder.add_extension(x509.AuthorityInformationAccess([access]), critical=False)
    certificate = builder.sign(ec.generate_private_key(ec.SECP256R1()) if issuer else key, hashes.SHA256())
    ca_file, key_file = directory / "ca.pem", directory / "key.pem"
    ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_file, key_file)
    context.set_alpn_protocols(["h2"])
    return Authority(str(ca_file), context)


class H2Site(Site):
    """Answers every stream with its path; `streams` counts them."""

    streams = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        try:
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        self._answer(connection, event)
                writer.write(connection.data_to_send())
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _answer(self, connection: h2.connection.H2Connection, event: h2.events.RequestReceived) -> None:
        self.streams += 1
        assert event.stream_id is not None
        assert event.headers is not None
        path = dict(event.headers)[b":path"]
        connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/plain")])
        connection.send_data(event.stream_id, path, end_stream=True)
