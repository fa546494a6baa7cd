"""What an ending leaves for the store and the archive is packed on the event loop, where it is small.

In the store's thread it would be packed beside the loop. But both let go of the interpreter at every compression and
every digest, and with five of them a page, taking it from each other costs a tenth of the crawl.
"""

from __future__ import annotations

from shoal.engine.ending import Ending
from shoal.engine.reading import BIG_BYTES
from shoal.engine.work import Work
from shoal.model import PageRecord
from shoal.store.content import pack


def pack_small(work: Work, end: Ending) -> None:
    """Whatever is bigger would hold other hosts up, and is left to the thread."""
    page = end.record
    if isinstance(page, PageRecord) and page.content is not None and page.bytes <= BIG_BYTES:
        page.content = pack(page.content)
    if end.capture is not None and work.recorder is not None and len(end.capture.raw) <= BIG_BYTES:
        work.recorder.draft(end.capture)
