from __future__ import annotations

import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from shoal.fetch.decode import CannotDecode, DecodedTooLarge, decode

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
    assert decode(CODED[coding], coding, CAP) == TEXT


def test_all_members_of_a_gzip_body_are_read() -> None:
    members = b"".join(gzip.compress(b"%d," % number) for number in range(500))
    assert decode(members, "gzip", CAP) == b"".join(b"%d," % number for number in range(500))


def test_both_frames_of_a_zstd_body_are_read() -> None:
    assert decode(zstandard.compress(b"one,") + zstandard.compress(b"two"), "zstd", CAP) == b"one,two"


def test_padding_after_a_gzip_body_is_ignored() -> None:
    assert decode(gzip.compress(TEXT) + b"\0" * 100, "gzip", CAP) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_of_exactly_the_cap_passes_and_one_byte_more_does_not(coding: str) -> None:
    assert decode(CODED[coding], coding, len(TEXT)) == TEXT
    with pytest.raises(DecodedTooLarge):
        decode(CODED[coding], coding, len(TEXT) - 1)
    assert decode(CODED[coding], coding, 1000, truncate=True) == TEXT[:1000]


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


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_breaks_off_gives_what_came_before(coding: str) -> None:
    noise = b"".join(zlib.crc32(b"%d" % number).to_bytes(4, "big") for number in range(100_000))
    coded = {
        "gzip": gzip.compress(noise),
        "deflate": zlib.compress(noise),
        "br": brotli.compress(noise, quality=4),
        "zstd": zstandard.compress(noise),
    }[coding]
    part = decode(coded[: len(coded) * 3 // 4], coding, CAP)
    assert len(part) > 1000
    assert noise.startswith(part)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("body", [b"<html>no such coding</html>", b"\x1f\x8b\x08"])
def test_a_body_that_gives_nothing_is_undecodable(coding: str, body: bytes) -> None:
    with pytest.raises(CannotDecode):
        decode(body, coding, CAP)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_empty_bodies_stay_empty(coding: str) -> None:
    empty = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
    assert decode(b"", coding, CAP) == b""
    assert decode(empty[coding](b""), coding, CAP) == b""


def test_three_codings_are_one_too_many() -> None:
    with pytest.raises(CannotDecode, match="3 content codings"):
        decode(gzip.compress(gzip.compress(gzip.compress(TEXT))), "gzip, gzip, gzip", CAP)


def test_a_flood_of_gzip_members_is_cut_short() -> None:
    with pytest.raises(CannotDecode, match="members"):
        decode(gzip.compress(b"") * 20_000, "gzip", CAP)
