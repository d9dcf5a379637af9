"""Lists the files that a patch or an archive would write; None if they are unknown or it creates links."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path

LARGEST = 16_000_000
"""Bytes, on disk and unpacked. Larger files are not read."""
_HEADER = re.compile(r"(?:--- |\+\+\+ |diff --git |rename (?:to|from) |copy to |Index: |\*\*\* )(.*)")
_LINK = re.compile(r"(?:new|new file|deleted file|old) mode 1[26]0000")


def names_in(path: Path) -> list[str] | None:
    """Return all names in a file; None if they are unknown, or if it creates links, which can redirect any name."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        if zipfile.is_zipfile(path):
            return _zipped(path)
        content = _unpacked(path)
        if len(content) > LARGEST:
            return None
        return _archived(content) if content[257:262] == b"ustar" else _patched(content.decode("utf-8"))
    except (OSError, EOFError, ValueError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error):
        return None


def _unpacked(path: Path) -> bytes:
    for unpack in (gzip.open, bz2.open, lzma.open):
        try:
            with unpack(path, "rb") as file:
                return file.read(LARGEST + 1)
        except (OSError, lzma.LZMAError):
            continue
    return path.read_bytes()


def _zipped(path: Path) -> list[str] | None:
    with zipfile.ZipFile(path) as archive:
        found = archive.infolist()
    return None if any(stat.S_ISLNK(each.external_attr >> 16) for each in found) else [each.filename for each in found]


def _archived(content: bytes) -> list[str] | None:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = archive.getmembers()
    return [each.name for each in found] if all(each.isfile() or each.isdir() for each in found) else None


def _patched(text: str) -> list[str] | None:
    names: list[str] = []
    for line in text.splitlines():
        header = _HEADER.match(line)
        if _LINK.match(line) or (header and '"' in line):
            return None
        if header:
            names += [name for name in header[1].partition("\t")[0].split(" ") if name != "/dev/null"]
    return names or None
