from __future__ import annotations

from shoal.urls.href_hashes import HrefHashes

SITE, SHOP = "https://example.com", "https://example.com/shop/"


def hrefs(first: int, last: int) -> list[str]:
    return [f"/{number}" for number in range(first, last)]


def test_it_has_what_was_added_in_a_place_and_nothing_else() -> None:
    known = HrefHashes()
    known.add(SITE, hrefs(0, 100_000))
    known.add(SHOP, ["a"])
    assert known.without([SITE, SHOP], ["/0", "/99999", "a", "/100000", SITE, SHOP, ""]) == ["/100000", SITE, SHOP, ""]
    assert known.without([SHOP, ""], ["/0", "a"]) == ["/0"]
    assert known.without([], ["a"]) == ["a"]


def test_few_are_forgotten_while_it_has_room() -> None:
    known = HrefHashes(most_slots=1 << 14)
    for start in range(0, 1 << 14, 1 << 10):
        known.add(SITE, hrefs(start, start + (1 << 10)))
    assert len(known.without([SITE], hrefs(0, 1 << 14))) < (1 << 14) / 4
    assert known.without([SITE], hrefs(1 << 14, 1 << 15)) == hrefs(1 << 14, 1 << 15)


def test_a_full_set_has_the_newest() -> None:
    full = HrefHashes(most_slots=1 << 12)
    full.add(SITE, hrefs(0, 20_000))
    assert len(full.without([SITE], hrefs(0, 1_000))) > 900
    assert len(full.without([SITE], hrefs(19_900, 20_000))) < 10
