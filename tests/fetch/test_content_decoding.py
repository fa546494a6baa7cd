from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from shoal.fetch.content_decoding import CannotDecode, DecodedTooLarge, decode

TEXT = b"".join(b"<p>line %d of many</p>" % number for number in range(20_000))
CAP = 1_000_000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODED = {
    "gzip": gzip.compress(TEXT),
    "X-GZip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "Deflate ": raw_deflate(TEXT),
    "br": brotli.compress(TEXT, quality=4),
    "zstd": zstandard.compress(TEXT),
    "gzip, br": brotli.compress(gzip.compress(TEXT), quality=4),
    "identity": TEXT,
    "utf-8": TEXT,
    "": TEXT,
}


@pytest.mark.parametrize("coding", CODED)
def test_each_coding_gives_the_text_back(coding: str) -> None:
    assert decode(CODED[coding], coding, CAP).body == TEXT


def test_all_members_of_a_gzip_body_are_read() -> None:
    members = b"".join(gzip.compress(b"%d," % number) for number in range(500))
    assert decode(members, "gzip", CAP).body == b"".join(b"%d," % number for number in range(500))


def test_both_frames_of_a_zstd_body_are_read() -> None:
    assert decode(zstandard.compress(b"one,") + zstandard.compress(b"two"), "zstd", CAP).body == b"one,two"


def test_padding_after_a_gzip_body_is_ignored() -> None:
    assert decode(gzip.compress(TEXT) + b"\0" * 100, "gzip", CAP).body == TEXT


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_of_exactly_the_cap_passes_and_one_byte_more_does_not(coding: str) -> None:
    assert decode(CODED[coding], coding, len(TEXT)).body == TEXT
    with pytest.raises(DecodedTooLarge):
        decode(CODED[coding], coding, len(TEXT) - 1)
    assert decode(CODED[coding], coding, 1000, truncate=True).body == TEXT[:1000]


def bombs() -> dict[str, bytes]:
    zeros = bytes(64_000_000)
    return {
        "gzip": gzip.compress(zeros, 1),
        "deflate": zlib.compress(zeros, 1),
        "br": brotli.compress(zeros, quality=1),
        "zstd": zstandard.compress(zeros),
        "gzip, gzip": gzip.compress(gzip.compress(zeros, 1), 1),
    }


def test_bombs_stop_at_the_cap_in_bounded_memory() -> None:
    for coding, bomb in bombs().items():
        tracemalloc.start()
        with pytest.raises(DecodedTooLarge):
            decode(bomb, coding, 4_000_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 12_000_000, coding


def test_a_large_body_is_held_once_while_it_is_decoded() -> None:
    coded = gzip.compress(bytes(20_000_000))
    tracemalloc.start()
    assert len(decode(coded, "gzip", 40_000_000).body) == 20_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_breaks_off_gives_what_came_before(coding: str) -> None:
    noise = b"".join(zlib.crc32(b"%d" % number).to_bytes(4, "big") for number in range(100_000))
    coded = {
        "gzip": gzip.compress(noise),
        "deflate": zlib.compress(noise),
        "br": brotli.compress(noise, quality=4),
        "zstd": zstandard.compress(noise),
    }[coding]
    part = decode(coded[: len(coded) * 3 // 4], coding, CAP).body
    assert len(part) > 1000
    assert noise.startswith(part)


def checked_zstd(data: bytes) -> bytes:
    """As a server streams it: with a checksum, without its length."""
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


NOISE = b"".join(b"<p>%d</p>" % zlib.crc32(b"%d" % number) for number in range(40_000))
CHECKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": checked_zstd}
SIZES = pytest.mark.parametrize("size", [10, 3_000, 100_000, len(NOISE)])


@SIZES
@pytest.mark.parametrize("coding", CHECKED)
def test_a_wrong_checksum_costs_no_byte_and_is_told(coding: str, size: int) -> None:
    coded = CHECKED[coding](NOISE[:size])
    body, fault = decode(coded[:-4] + bytes(4), coding, CAP)
    assert (body, fault is None) == (NOISE[:size], False)
    body, fault = decode(coded[:-1], coding, CAP)
    assert (body, fault) == (NOISE[:size], "the compressed body is truncated")


@SIZES
@pytest.mark.parametrize("coding", ["gzip", "deflate", "Deflate "])
def test_a_body_that_turns_bad_gives_what_came_before_to_the_last_byte(coding: str, size: int) -> None:
    sound = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "Deflate ": -15}[coding])
    begun = sound.compress(NOISE[:size]) + sound.flush(zlib.Z_FULL_FLUSH)
    # A block of the type that there is not.
    assert decode(begun + b"\x07" * 50_000, coding, CAP).body == NOISE[:size]
    assert decode(begun, coding, CAP) == (NOISE[:size], "the compressed body is truncated")
    assert decode(begun + sound.flush(), coding, CAP) == (NOISE[:size], None)


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_what_others_unpacked_before_a_fault_is_kept(coding: str) -> None:
    """They unpack by blocks: how much of the one with the fault is there is theirs to say."""
    coded = {"br": brotli.compress(NOISE, quality=4), "zstd": checked_zstd(NOISE)}[coding]
    middle = len(coded) // 2
    body, fault = decode(coded[:middle] + b"\xff" * 64 + coded[middle + 64 :], coding, CAP)
    assert fault is not None
    assert body[:100_000] == NOISE[:100_000]
    assert decode(coded + b"padding", coding, CAP).body == NOISE


@pytest.mark.parametrize("cut", [1, 3, 20, 200, 10_000])
def test_a_zstd_body_that_breaks_off_is_told_from_a_whole_one(cut: int) -> None:
    skipped = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    whole = zstandard.compress(b"z" * 300_000) + skipped + checked_zstd(NOISE[:100_000])
    assert decode(whole, "zstd", CAP) == (b"z" * 300_000 + NOISE[:100_000], None)
    assert decode(whole[:-cut], "zstd", CAP).fault == "the compressed body is truncated"


def test_the_fault_of_either_coding_is_told() -> None:
    inner = gzip.compress(TEXT)[:-4] + bytes(4)
    assert decode(brotli.compress(inner, quality=4), "gzip, br", CAP).body == TEXT
    assert "incorrect length" in (decode(brotli.compress(inner, quality=4), "gzip, br", CAP).fault or "")
    assert "is truncated" in (decode(gzip.compress(gzip.compress(TEXT))[:-1], "gzip, gzip", CAP).fault or "")


def test_a_bomb_with_a_fault_stops_at_the_cap_too() -> None:
    bomb = gzip.compress(bytes(64_000_000), 1)[:-4] + bytes(4)
    with pytest.raises(DecodedTooLarge):
        decode(bomb, "gzip", 4_000_000)
    small = gzip.compress(bytes(4_000_100), 1)[:-4] + bytes(4)
    with pytest.raises(DecodedTooLarge):
        decode(small, "gzip", 4_000_000)
    assert decode(small, "gzip", 4_000_000, truncate=True).body == bytes(4_000_000)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("body", [b"<html>no such coding</html>", b"\x1f\x8b\x08"])
def test_a_body_that_gives_nothing_is_undecodable(coding: str, body: bytes) -> None:
    with pytest.raises(CannotDecode):
        decode(body, coding, CAP)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_empty_bodies_stay_empty(coding: str) -> None:
    empty = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
    assert decode(b"", coding, CAP).body == b""
    assert decode(empty[coding](b""), coding, CAP).body == b""


def test_three_codings_are_one_too_many() -> None:
    with pytest.raises(CannotDecode, match="3 content codings"):
        decode(gzip.compress(gzip.compress(gzip.compress(TEXT))), "gzip, gzip, gzip", CAP)


def test_a_flood_of_gzip_members_is_cut_short() -> None:
    with pytest.raises(CannotDecode, match="members"):
        decode(gzip.compress(b"") * 20_000, "gzip", CAP)
