from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice import Running, Shop, running


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(seed=7, hosts=3, categories=3, products=20, per_page=4)


@pytest.fixture(scope="module")
def site(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log: Path = tmp_path_factory.mktemp("practice") / "visits.jsonl"
    with running(shop, log=log) as site:
        yield site
