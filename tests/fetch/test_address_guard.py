from __future__ import annotations

import pytest

from shoal.fetch.address_guard import AddressGuard

PUBLIC = [
    "93.184.216.34",
    "8.8.8.8",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::200e",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
]
PRIVATE = [
    "127.0.0.1",
    "127.255.0.9",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "198.18.0.1",
    "::1",
    "fd12:3456::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "2001:0:808:808:0:0:f5ff:fffe",
]
NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "::ffff:168.63.129.16",
    "64:ff9b::a83f:8110",
    "192.0.0.192",
    "192.0.2.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fd00:a9fe:a9fe::1",
    "64:ff9b:1::a00:1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::ffff:0:0",
    "not an address",
    "",
]


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_may_be_dialled(ip: str) -> None:
    assert AddressGuard().allows(ip)
    assert AddressGuard(allow_private=True).allows(ip)


@pytest.mark.parametrize("ip", PRIVATE)
def test_private_addresses_need_the_operators_leave(ip: str) -> None:
    assert not AddressGuard().allows(ip)
    assert AddressGuard(allow_private=True).allows(ip)


@pytest.mark.parametrize("ip", NEVER)
def test_some_addresses_are_never_dialled(ip: str) -> None:
    assert not AddressGuard().allows(ip)
    assert not AddressGuard(allow_private=True).allows(ip)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]:8080/",
        "http://localhost/",
        "http://LOCALHOST:81/",
        "http://a.localhost/",
        "http://localhost./",
        "http://127。0。0。1/",
    ],
)
def test_literal_private_targets_are_refused_behind_a_proxy_however_they_are_spelt(url: str) -> None:
    assert not AddressGuard().allows_target(url)
    assert AddressGuard(allow_private=True).allows_target(url)


def test_by_its_url_alone_a_name_is_not_judged() -> None:
    assert AddressGuard().allows_target("http://example.org/")
    assert AddressGuard().allows_target("http://8.8.8.8/")
    assert not AddressGuard(allow_private=True).allows_target("http://169.254.169.254/latest/")
