"""How many connections of whom a process has, and which gives way."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from shoal.control.client_address import ClientAddresses
from shoal.control.connection_limits import OTHER_FILES, ConnectionLimit, ConnectionLimits, ConnectionSet


@dataclass(eq=False)
class Opened:
    address: str | None


def test_the_oldest_connection_of_an_address_is_closed_for_its_next() -> None:
    some = ConnectionSet[Opened](ConnectionLimit(10, 2))
    first, other, second = Opened("a"), Opened("b"), Opened("a")
    for one in (other, first, second):
        some.add(one)
    assert some.oldest_in_the_way("a") is first and not some.has_room_for("a")
    assert some.oldest_in_the_way("b") is None
    some.discard(first)
    assert some.has_room_for("a") and list(some) == [other, second]


def test_the_oldest_connection_is_closed_at_the_total_limit() -> None:
    some = ConnectionSet[Opened](ConnectionLimit(3, 2))
    all = [Opened(address) for address in ("a", None, "b")]
    for one in all:
        some.add(one)
    assert some.oldest_in_the_way("c") is some.oldest_in_the_way(None) is all[0]


def test_a_connection_without_address_has_only_the_total_limit() -> None:
    some = ConnectionSet[Opened](ConnectionLimit(4, 1))
    for _ in range(3):
        some.add(Opened(None))
    assert some.has_room_for(None)


def test_a_process_with_few_files_has_fewer_connections() -> None:
    bounds = ConnectionLimits()
    assert bounds.within(bounds.files + OTHER_FILES) is bounds
    few = bounds.within(OTHER_FILES + bounds.files // 10)
    assert few.files <= bounds.files // 10 and few.waiting.per_address == 10
    assert bounds.within(64).waiting.total > 0


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        (("192.0.2.7", 80), "192.0.2.7"),
        (("::ffff:192.0.2.7", 80, 0, 0), "192.0.2.7"),
        (("2001:db8::1:2:3", 80, 0, 0), "2001:db8::/64"),
        (("fe80::1%eth0", 80, 0, 2), "fe80::/64"),
        (("10.0.0.5", 80), None),
        (("10.1.2.3", 80), None),
        (("::ffff:10.1.2.3", 80, 0, 0), None),
        ("", None),
    ],
)
def test_a_client_is_counted_by_its_address_unless_it_is_a_trusted_proxy(peer: object, counted: str | None) -> None:
    assert ClientAddresses(["10.0.0.5", "10.1.0.0/16"]).counted(peer) == counted
