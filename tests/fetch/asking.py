"""A fetch of which the test knows how it ends."""

from __future__ import annotations

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure


async def got(fetcher: Fetcher, url: str, **settings: object) -> Exchange:
    answer = await fetcher.fetch(Fetch(url, **settings))  # type: ignore[arg-type]
    assert isinstance(answer, Exchange), answer
    return answer


async def failed(fetcher: Fetcher, url: str, **settings: object) -> Failure:
    answer = await fetcher.fetch(Fetch(url, **settings))  # type: ignore[arg-type]
    assert isinstance(answer, Failure), answer
    return answer
