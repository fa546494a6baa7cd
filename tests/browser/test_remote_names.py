"""Names that only the proxy of a browser looks up."""

from __future__ import annotations

import asyncio

import pytest

from shoal.browser.guarded_dial import DialRefused, GuardedDial
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.dns import DnsResolver


class NotedNames(DnsResolver):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def addresses(self, place: str, within_s: float) -> list[str]:
        self.asked.append(place)
        return await super().addresses(place, within_s)


@pytest.mark.parametrize("remote_dns", [True, False])
async def test_a_name_is_looked_up_here_only_if_the_proxy_does_not(remote_dns: bool) -> None:
    heads: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(tunnel, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        names = NotedNames()
        guard = AddressGuard(private_proxy=True)
        dial = GuardedDial(guard, names, f"http://127.0.0.1:{port}", remote_dns)
        connected, _ = await dial.connect("shop.invalid", 443)
        connected.close()
        for refused in ("10.0.0.5", "metadata.google.internal", "intranet"):
            with pytest.raises(DialRefused):
                await dial.connect(refused, 443)
        await names.aclose()
    assert [head.split(b" ")[1] for head in heads] == [b"shop.invalid:443"]
    assert bool(names.asked) is not remote_dns
