"""Bodies out of the archive, with their content codings undone.

A page that came again as it was, in this job or an earlier one, has the body and headers of the exchange that brought
it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.engine.work import SITEMAP_BYTES
from shoal.errors import UsageError
from shoal.fetch.curl import DECODED_RATIO
from shoal.fetch.decode import decode
from shoal.fetch.exchange import Headers, parse_head
from shoal.jobs.place import Place
from shoal.model import PageRecord
from shoal.store.archive.archive import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.segments import machines_lost, require_segment
from shoal.store.records import ending
from shoal.store.store import Store

_FINGERPRINT = re.compile("[0-9a-fA-F]{16}")
MAX_BYTES = SITEMAP_BYTES * DECODED_RATIO
"""No body that was ever taken is larger."""


@dataclass(frozen=True, slots=True)
class KeptBody:
    page: PageRecord
    headers: Headers
    body: bytes


def kept_body(place: Place, job: str, fingerprint: str) -> KeptBody:
    """Raises UsageError, with the way out, if there is no such page or it is not in the archive."""
    page = ending(place.store, job, _key(fingerprint))
    if not isinstance(page, PageRecord):
        raise UsageError(f"job {job} has no page {fingerprint!r}: `shoal pages {job} --json` tells their fingerprints")
    if page.archive is None:
        raise UsageError(
            f"{page.url} is not in the archive of job {job}: it was crawled with --no-archive or beyond "
            "--max-archive-bytes, or its answer was 304 and no job has its body"
            f"{_or_lost(place.store, job)}; crawl it again to have it"
        )
    require_segment(place.store, place.archive, Reference.parse(page.archive).segment)
    return KeptBody(page, *unpacked(place.archive, page.archive))


def unpacked(archive: Archive, reference: str) -> tuple[Headers, bytes]:
    """The headers of an archived answer, and its body without its codings."""
    head, raw = archive.record(Reference.parse(reference)).http
    _, headers = parse_head(head)
    return headers, decode(raw, ",".join(headers.get_all("content-encoding")), MAX_BYTES).body


def _or_lost(store: Store, job: str) -> str:
    machines = machines_lost(store, job)
    return f", or it was lost with {', '.join(machines)}, of which nothing was heard any more" if machines else ""


def _key(fingerprint: str) -> int:
    """As the store has it: signed."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise UsageError(f"{fingerprint!r} is no fingerprint: give the 16 hex digits that --json tells")
    key = int(fingerprint, 16)
    return key - (1 << 64) if key >= 1 << 63 else key
