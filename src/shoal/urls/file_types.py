"""Which types of files a job fetches: by the ending of a URL before the request, by the Content-Type after it.

Without a choice, everything that a person could read is fetched, and archives, media, fonts and programs are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shoal.errors import UsageError

REASON = "file_type"
"""Why a request was dropped."""
PREFIX = f"{REASON}:"
"""Prefix of a type's name where it is the reason to skip a link."""
ALL = "all"


class _FileType(NamedTuple):
    endings: str
    media_types: tuple[str, ...]
    """A media type, or the beginning of one that ends with / or -."""


_DOCUMENTS = (
    *("application/msword", "application/rtf", "application/epub+zip", "application/postscript", "text/rtf"),
    *("application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.ms-word"),
    *("application/vnd.openxmlformats-", "application/vnd.oasis."),
)
_ARCHIVES = (
    *("application/zip", "application/x-zip", "application/x-zip-compressed", "application/x-tar", "application/gzip"),
    *("application/x-gzip", "application/x-bzip2", "application/x-bzip", "application/x-xz", "application/x-lzma"),
    *("application/zstd", "application/x-7z-compressed", "application/vnd.rar", "application/x-rar"),
    *("application/x-rar-compressed", "application/x-compress", "application/x-compressed-tar", "application/x-gtar"),
    *("application/x-cpio", "application/x-git"),
)
_PROGRAMS = (
    *("application/octet-stream", "application/x-msdownload", "application/x-msdos-program", "application/x-msi"),
    *("application/x-executable", "application/x-sharedlib", "application/x-elf", "application/java-archive"),
    *("application/vnd.android.package-archive", "application/vnd.debian.binary-package", "application/x-rpm"),
    *("application/x-debian-package", "application/x-iso9660-image", "application/x-apple-diskimage"),
    *("application/vnd.microsoft.portable-executable", "binary/octet-stream", "application/force-download"),
)
_TYPES = {
    "html": _FileType(
        "html htm xhtml xht shtml php php5 phtml asp aspx jsp jspx cgi do", ("text/html", "application/xhtml+xml")
    ),
    "pdf": _FileType("pdf", ("application/pdf", "application/x-pdf")),
    "document": _FileType("doc docx odt rtf ppt pptx odp xls xlsx ods epub ps", _DOCUMENTS),
    "data": _FileType(
        "json jsonl geojson xml rss atom rdf yaml yml csv tsv",
        (
            "application/json",
            "application/xml",
            "text/xml",
            "text/csv",
            "application/yaml",
            "text/tab-separated-values",
        ),
    ),
    "text": _FileType("txt md rst log css js mjs", ("text/", "application/javascript", "application/x-javascript")),
    "image": _FileType("png jpg jpeg gif webp avif svg svgz ico bmp tif tiff heic jxl psd", ("image/",)),
    "audio": _FileType("mp3 ogg oga flac wav m4a aac opus wma mid midi aiff", ("audio/", "application/ogg")),
    "video": _FileType(
        "mp4 m4v webm mkv avi mov mpg mpeg wmv flv ogv 3gp m3u8", ("video/", "application/vnd.apple.mpegurl")
    ),
    "font": _FileType(
        "woff woff2 ttf otf eot",
        ("font/", "application/font-", "application/x-font-", "application/vnd.ms-fontobject"),
    ),
    "archive": _FileType("zip tar gz tgz bz2 tbz tbz2 xz txz zst tzst lz lzma z 7z rar cpio bundle", _ARCHIVES),
    "program": _FileType("exe msi dll so bin iso img dmg pkg deb rpm apk appimage jar war class", _PROGRAMS),
}
FILE_TYPES = tuple(_TYPES)
USUAL = frozenset(("html", "pdf", "document", "data", "text"))
"""What a job fetches if it does not choose."""
_BY_ENDING = {ending: name for name, kind in _TYPES.items() for ending in kind.endings.split()}
_BY_MEDIA_TYPE = {media_type: name for name, kind in _TYPES.items() for media_type in kind.media_types}
_BY_BEGINNING = {media_type: name for media_type, name in _BY_MEDIA_TYPE.items() if media_type[-1] in "/-."}
_UNKNOWN = frozenset(("application/octet-stream", "binary/octet-stream", "application/force-download"))
"""What servers send for files whose type they do not know."""
_PAGES_ABOUT_FILES = frozenset(
    ("blob", "tree", "blame", "annotate", "log", "commit", "commits", "diff", "history", "wiki", "browse", "view")
)
"""Below these, git browsers and wikis have pages about files, whose URLs end like the files."""


class FileTypes:
    def __init__(self, chosen: Iterable[str] = (), has_spider: bool = False) -> None:
        """`chosen` as `parse_types` gives it. A spider and rules choose their links themselves, so a job with one
        fetches every type unless it says which."""
        self.chosen = frozenset(chosen)
        self._fetched = self.chosen or (frozenset(FILE_TYPES) if has_spider else USUAL)
        self.takes_all = self._fetched.issuperset(FILE_TYPES)
        self._refused_endings = {ending: name for ending, name in _BY_ENDING.items() if name not in self._fetched}

    def refused_by_url(self, url: str) -> str | None:
        """The type that the ending of a canonical URL shows, if the job does not fetch it."""
        name = url.partition("?")[0].rpartition("/")[2]
        refused = self._refused_endings.get(_ending(name))
        return None if refused is None or _is_page_about_file(url, name) else refused

    def refused_by_answer(self, content_type: str, url: str) -> str | None:
        """The type of an answer, if the job does not fetch it. An unknown type is fetched if the job chose none."""
        if self.takes_all:
            return None
        name = type_of(content_type, url)
        if name is None:
            return "unknown" if self.chosen and content_type else None
        return None if name in self._fetched else name


def type_of(content_type: str, url: str) -> str | None:
    """The file type of an answer: its declared type, or the URL's ending if the server does not know the type."""
    media_type = content_type.partition(";")[0].partition(",")[0].strip().lower()
    if media_type in _UNKNOWN:
        return _BY_ENDING.get(_ending(url.partition("?")[0].rpartition("/")[2]), "program")
    if name := _BY_MEDIA_TYPE.get(media_type):
        return name
    if media_type.endswith(("+json", "+xml")) and not media_type.startswith("image/"):
        return "data"
    return next((name for start, name in _BY_BEGINNING.items() if media_type.startswith(start)), None)


def parse_types(names: Iterable[str]) -> tuple[str, ...]:
    """Types without repeats, in a fixed order. A text may hold several with commas, or `all`. Raises UsageError."""
    asked = {name.strip().lower() for text in names for name in text.split(",") if name.strip()}
    if unknown := sorted(asked - {*FILE_TYPES, ALL}):
        belongs = _BY_ENDING.get(unknown[0].lstrip("."))
        hint = f"it belongs to {belongs}" if belongs else f"choose from {', '.join(FILE_TYPES)} or {ALL}"
        raise UsageError(f"--types {unknown[0]!r}: there is no such type; {hint}")
    return tuple(name for name in FILE_TYPES if name in asked or ALL in asked)


def allowing(name: str) -> str:
    """The option that makes a job fetch such files."""
    usual = [usual for usual in FILE_TYPES if usual in USUAL]
    return f"--types {','.join((*usual, name)) if name in FILE_TYPES else ALL}"


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def _is_page_about_file(url: str, name: str) -> bool:
    """`/wiki/File:Logo.png` and `/tree/logo.png` are pages."""
    return ":" in name or not _PAGES_ABOUT_FILES.isdisjoint(url.split("/")[3:-1])
