"""Turns a page into Markdown or plain text; run as a program of its own, since a hostile page may take for ever."""

from __future__ import annotations

import re
import sys


def converted(text: str, form: str) -> str:
    """The words of a page, without what only a browser needs."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(text, "html.parser")
    for node in page(["script", "style", "noscript", "template", "svg", "iframe"]):
        node.decompose()
    if form == "text":
        return re.sub(r"\n\s*\n+", "\n\n", page.get_text("\n")).strip()
    found: str = MarkdownConverter(heading_style="ATX").convert_soup(page)
    return re.sub(r"\n{3,}", "\n\n", found).strip()


if __name__ == "__main__":
    sys.stdout.write(converted(sys.stdin.buffer.read().decode("utf-8", errors="replace"), sys.argv[1]))
