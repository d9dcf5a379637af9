"""Files that a model may look at, known by their first bytes and not by what they are called."""

from __future__ import annotations

MARKS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def media_of(content: bytes) -> str:
    """The media type of an image or a document by its beginning; empty if it is neither."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in MARKS if content.startswith(mark)), "")
