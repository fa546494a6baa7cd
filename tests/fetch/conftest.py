from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from tests.fetch.site import Site, serving

Lookup = Callable[[str], str]
AGENT = "shoal/0.1.0 (+https://example.org/crawler)"


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True))
    yield fetcher
    await fetcher.aclose()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site()) as site:
        yield site


@pytest.fixture
def resolving(monkeypatch: pytest.MonkeyPatch) -> Callable[[Lookup], list[str]]:
    """Answers for names under `.example` in place of the name servers, with one address or several; gives the names
    asked for."""
    real = socket.getaddrinfo

    def resolve_by(lookup: Lookup) -> list[str]:
        asked: list[str] = []

        def answer(name: str, port: int, *args: Any, **settings: Any) -> Any:
            if not name.endswith(".example"):
                return real(name, port, *args, **settings)
            asked.append(name)
            return [found for address in lookup(name).split() for found in real(address, port, *args, **settings)]

        monkeypatch.setattr(socket, "getaddrinfo", answer)
        return asked

    return resolve_by
