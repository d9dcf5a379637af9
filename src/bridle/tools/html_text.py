"""Program that converts an HTML page to Markdown or text; `webfetch` runs it, since a hostile page may hang it."""

from __future__ import annotations

import re
import sys

CHARSETS = re.compile(
    r"utf-?8|(us-)?ascii|latin-?1|iso-?8859-?([1-9]|1[013-6])|windows-?(125[0-8]|874)|cp(125[0-8]|866|874)|"
    r"ibm866|koi8-[ru]|macintosh|gb2312|gbk|gb18030|big5(-hkscs)?|euc-(jp|kr)|shift-jis|iso-2022-jp"
)
"""Web charsets. Some of Python's other encodings take hours or are not charsets at all."""
OTHER_NAMES = {"gb2312": "gb18030", "gbk": "gb18030", "macintosh": "mac-roman", "iso-8859-1": "cp1252"}


def decoded(content: bytes, charset: str) -> str:
    """Return the text of a page; an unknown charset is read as UTF-8."""
    name = charset.strip().lower().replace("_", "-")
    if not CHARSETS.fullmatch(name):
        name = "utf-8"
    return content.decode(OTHER_NAMES.get(name, name), errors="replace")


def converted(text: str, form: str) -> str:
    """Return a page as Markdown or text without scripts and styles, or unchanged for `html`."""
    if form == "html":
        return text
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
    page = converted(decoded(sys.stdin.buffer.read(), sys.argv[2]), sys.argv[1])
    sys.stdout.buffer.write(page.encode("utf-8", errors="replace"))
