"""Detects images and PDF files by their first bytes, not by their names."""

from __future__ import annotations

import re

MARKS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n\0\0\0\rIHDR.{8}", re.DOTALL), "image/png"),
    (re.compile(rb"\xff\xd8\xff.{8}", re.DOTALL), "image/jpeg"),
    (re.compile(rb"GIF8[79]a.{7}", re.DOTALL), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBPVP8", re.DOTALL), "image/webp"),
    (re.compile(rb"%PDF-\d\.\d\s"), "application/pdf"),
)


def media_of(content: bytes) -> str:
    """Return the media type of an image or PDF file from its first bytes; empty for anything else."""
    return next((media for mark, media in MARKS if mark.match(content)), "")
