"""The multi handle of libcurl for this platform: our own where there is epoll, otherwise pycurl's."""

from __future__ import annotations

import sys

import pycurl

if sys.platform == "linux":
    from shoal.fetch.curl_multi import EpollMulti as Multi
else:

    class Multi(pycurl.AsyncCurlMulti):
        """When cancelled, it removes the handle before the awaiting task wakes: its callback was registered first."""

        def __init__(self) -> None:
            super().__init__()
            self.unusable_ports: set[int] = set()

        async def perform(self, curl: pycurl.Curl) -> None:
            await super().perform(curl)


__all__ = ["Multi"]
