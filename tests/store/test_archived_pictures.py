from __future__ import annotations

from contextlib import closing
from random import Random

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Capture, Reference, Resource
from shoal.store.store import Store
from tests.store.archiving import Writing, kept
from tests.store.warcs import capture

HTML = Resource("dom", "text/html", b"<p>made by scripts</p>")
# Bigger than what is read of a segment at first, and not compressible to less.
BIG = Resource("view", "image/png", Random(7).randbytes(2_700_000))
PRINTED = Resource("pdf", "application/pdf", b"%PDF-1.7")


def rendered(n: int, *pictures: Resource) -> Capture:
    return capture(n, resources=(HTML, *pictures), calls=(capture(100 + n),))


def at(reference: Reference | None) -> Reference:
    assert reference is not None
    return reference


def test_pictures_of_a_page_are_found_in_their_order_and_no_others(store: Store, archive: Archive) -> None:
    first, plain, second, last = kept(
        store, archive, rendered(1, BIG, PRINTED), capture(2), rendered(3), rendered(4, PRINTED)
    ).references
    assert archive.pictures(at(first)) == [BIG, PRINTED]
    assert archive.pictures(at(plain)) == []
    assert archive.pictures(at(second)) == []
    assert archive.pictures(at(last)) == [PRINTED]


def test_pictures_are_found_while_the_segment_grows_and_without_those_that_a_crash_tore(
    store: Store, archive: Archive
) -> None:
    writing = Writing(store, archive)
    (reference,) = writing.append([rendered(1, PRINTED, BIG)]).references
    assert archive.pictures(at(reference)) == [PRINTED, BIG]
    writing.die()
    (segment,) = archive.spools.glob("*/*/*.gz.open")
    with segment.open("r+b") as file:
        file.truncate(at(reference).offset + at(reference).length + 700)
    with closing(archive.reader()) as reader:
        assert reader.pictures(at(reference)) == [PRINTED]
