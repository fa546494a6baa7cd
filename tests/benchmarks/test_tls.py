"""The part over TLS, small: a few pages on a few hosts, crawled by Shoal alone."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.certificate import issue
from benchmarks.contenders import SHOAL
from benchmarks.measure import CannotMeasure, measure
from benchmarks.parts import PARTS
from benchmarks.servers import Place, free_port, nginx

PAGES = 12
HOSTS = ("127.1.0.1", "127.1.0.2", "127.1.1.250")
TLS = PARTS["tls"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(HOSTS, free_port(), tls=True)
    TLS.build(tmp_path / "site", PAGES, place.href)
    (tmp_path / "scratch").mkdir()
    return place


def test_pages_link_across_all_hosts(place: Place, tmp_path: Path) -> None:
    page = (tmp_path / "site" / "000005.html").read_text()
    assert all(f'href="https://{host}:{place.port}/' in page for host in HOSTS)


@pytest.mark.usefixtures("needs_nginx")
def test_shoal_crawls_the_site_over_all_hosts(place: Place, tmp_path: Path) -> None:
    with nginx(place, tmp_path / "site", tmp_path / "scratch") as extra:
        command = SHOAL.commands["tls"](place.url(0), PAGES, tmp_path)
        assert measure(command, TLS.expected(PAGES), tmp_path, extra).pages == PAGES


@pytest.mark.usefixtures("needs_nginx")
def test_every_host_has_a_certificate_that_only_its_own_authority_vouches_for(place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = issue(tmp_path / "other", HOSTS).authority
    with nginx(place, tmp_path / "site", tmp_path / "scratch") as extra:
        context = ssl.create_default_context(cafile=extra["SSL_CERT_FILE"])
        for number in range(len(HOSTS)):
            with urlopen(place.url(number), context=context) as answer:
                assert answer.status == 200
        command = SHOAL.commands["tls"](place.url(0), PAGES, tmp_path)
        with pytest.raises(CannotMeasure, match="code 4"):
            measure([*command, "--retries", "0"], TLS.expected(PAGES), tmp_path, {"SSL_CERT_FILE": str(other)})
