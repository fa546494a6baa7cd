"""Names the files of a mirror after their URLs, as wget does: `host/path/index.html`.

A name is safe on every file system and never leaves the mirror's folder. No two files share a name, also where case
does not count, and no file has the name of a folder.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from shoal.extract.html_tags import HTML_TYPES

MAX_NAME_BYTES = 150
MAX_PATH_BYTES = 800

_UNSAFE = re.compile(r'[\x00-\x1f\x7f\\/:*?"<>|%]|[. ]+\Z')
_JAVASCRIPT = (".js", ".mjs")
_EXTENSIONS = {
    **dict.fromkeys(HTML_TYPES, (".html", ".htm", ".xhtml")),
    "text/css": (".css",),
    **dict.fromkeys(("text/javascript", "application/javascript", "application/x-javascript"), _JAVASCRIPT),
    "application/json": (".json", ".map", ".webmanifest"),
    "application/pdf": (".pdf",),
    "image/svg+xml": (".svg",),
    "image/png": (".png", ".apng"),
    "image/jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
    "image/bmp": (".bmp",),
    **dict.fromkeys(("image/x-icon", "image/vnd.microsoft.icon"), (".ico",)),
    "font/woff2": (".woff2",),
    "font/woff": (".woff",),
    "font/ttf": (".ttf",),
    "font/otf": (".otf",),
    "video/mp4": (".mp4", ".m4v"),
    "video/webm": (".webm",),
    "audio/mpeg": (".mp3",),
}
"""Media type -> the extensions that fit it; a name without one gets the first."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)", re.IGNORECASE)
_HASH_CHARS = 8


def mirror_paths(media_types: Mapping[str, str]) -> dict[str, str]:
    """URL -> path in the mirror, with `/` between its parts; takes the media type of each URL."""
    wanted = {url: _wanted(url, media) for url, media in sorted(media_types.items())}
    folders = {_folded("/".join(parts[:end])) for parts in wanted.values() for end in range(1, len(parts))}
    taken: set[str] = set()
    paths = {}
    for url, parts in wanted.items():
        path = "/".join(parts)
        if _folded(path) in taken or _folded(path) in folders:
            path = "/".join((*parts[:-1], _with_hash(parts[-1], url)))
        taken.add(_folded(path))
        paths[url] = path
    return paths


def _wanted(url: str, media_type: str) -> list[str]:
    parsed = urlsplit(url)
    *folders, last = parsed.path.split("/")[1:] or [""]
    name = _safe(last) if last else "index.html"
    if parsed.query:
        name += "@" + _safe(parsed.query)
    name = _shortened(name + _missing_extension(name, media_type), url)
    parts = [_safe(parsed.netloc.replace(":", "+")), *(_shortened(_safe(part), part) for part in folders), name]
    if len("/".join(parts).encode()) > MAX_PATH_BYTES:
        return [parts[0], "long", _with_hash(name, url)]
    return parts


def _missing_extension(name: str, media_type: str) -> str:
    """A browser knows the type of a local file by its extension alone."""
    fitting = _EXTENSIONS.get(media_type, ())
    return "" if not fitting or name.lower().endswith(fitting) else fitting[0]


def _safe(part: str) -> str:
    """The part, decoded, with what no file system or URL takes as percent codes."""
    decoded = unicodedata.normalize("NFC", unquote(part, errors="replace"))
    safe = _UNSAFE.sub(lambda found: "".join(f"%{ord(char):02X}" for char in found[0]), decoded)
    return f"_{safe}" if not safe or _RESERVED.match(safe) else safe


def _shortened(name: str, identity: str) -> str:
    return name if len(name.encode()) <= MAX_NAME_BYTES else _with_hash(name, identity)


def _with_hash(name: str, identity: str) -> str:
    """The beginning of the name with a hash, and its extension."""
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension) > _HASH_CHARS:
        stem, dot, extension = name, "", ""
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_CHARS]
    kept = stem.encode()[: MAX_NAME_BYTES - 2 * _HASH_CHARS - 2].decode(errors="ignore")
    return f"{kept}-{digest}{dot}{extension}"


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def folders_of(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}
