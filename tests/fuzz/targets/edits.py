"""A change of a file by the text that a model remembers of it: three texts, parted by lines of `=====`."""

import re
import unicodedata
from collections.abc import Iterator

from bridle.errors import ToolFailed
from bridle.tools.file_changes import Before
from bridle.tools.text_match import QUOTES, replaced
from fuzz.target import Target

PARTED = b"\n=====\n"


def check(data: bytes) -> None:
    content, old, new, *_ = [*data.split(PARTED, 2), b"", b""]
    before = Before(content)
    wanted, given = (before.given(text.decode("utf-8", "replace")) for text in (old, new))
    assert before.encoded(before.text) == content, "a file does not survive being read"
    if not wanted or wanted == given:
        return
    for everywhere in (False, True):
        try:
            made = replaced(before.text, wanted, given, everywhere=everywhere, name="a.py")
        except ToolFailed as error:
            assert str(error)
            continue
        assert made.places == 1 or everywhere
        if not made.reading:
            assert made == (before.text.replace(wanted, given), before.text.count(wanted), "")
        elif made.places == 1:
            after = before.encoded(made.content)
            assert after.startswith(before.mark), "the mark is gone"
            texts = (unescaped(wanted), unescaped(given)) if made.reading == "escapes" else (wanted, given)
            assert beside_kept(content[len(before.mark) :], after[len(before.mark) :], *texts)
        if before.dos and "\r" not in given:
            assert b"\n" not in before.encoded(made.content).replace(b"\r\n", b""), "another line end"


def beside_kept(content: bytes, after: bytes, wanted: str, given: str) -> bool:
    """Whether there is a place of the text beside which every byte is what it was."""
    return any(
        after.startswith(content[:start])
        and after.endswith(content[end:])
        and len(after) >= len(content[:start]) + len(content[end:])
        for start, end in places(content, wanted, given)
    )


def unescaped(text: str) -> str:
    spelled = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
    return re.sub(r'\\[nt"\'\\]', lambda found: spelled[found[0]], text)


def squashed(text: str) -> str:
    """A text without what the widest reading does not look at."""
    return "".join(unicodedata.normalize("NFKC", text).translate(QUOTES).split())


def places(content: bytes, wanted: str, given: str) -> Iterator[tuple[int, int]]:
    """Where the text may stand: runs of lines that say the same, with their last line end if that shall go too."""
    ended = wanted.endswith("\n") and not given.lstrip("\n").endswith("\n")
    count = len(wanted.strip("\n").split("\n"))
    ends = [-1, *(found.start() for found in re.finditer(rb"\n", content)), len(content)]
    for first, last in zip(ends, ends[count:], strict=False):
        there = content[first + 1 : last]
        if squashed(there.decode("utf-8", "surrogateescape")) == squashed(wanted):
            # A CR before the line end is part of it.
            yield first + 1, last + 1 if ended else last - there.endswith(b"\r")


FILE = "def a():\n    if x:\n        return “one”  \n\n\tb = 2\n    return None\n\ndef c():\n    pass\n"
SEEDS = tuple(
    PARTED.join(part.encode() for part in parts)
    for parts in (
        (FILE, "    pass", "    return 1"),
        (FILE, 'return "one"', 'return "two"\n'),
        (FILE, "if x:\n    return “one”\n", "if y:\n    return 2\n    more()\n"),
        (FILE.replace("\n", "\r\n"), "def c():\n  pass\n", "def d():\n  pass\n"),
        (FILE.replace("x:\n", "x:\r\n"), "if  x:", "if z:"),
        ("\ufeffa\nb \nc\n", "\n\nb\n\n", "d\n"),
        ("a\tb\nc\n", "a\\tb\\nc", "d\\ne"),
        ("x = 1\nx = 1\n", "x = 1", "x = 2"),
    )
)
WORDS = (
    PARTED,
    b"\n",
    b"\r\n",
    b"  ",
    b"\t",
    b"    ",
    b"\\n",
    b"\\t",
    b'\\"',
    "\u201c".encode(),
    "\u2019".encode(),
    b"'",
    b"x",
)
TARGETS = (
    Target(
        "edits",
        "A text is replaced where it stands, or not at all with a word on why; every byte beside it stays, with the "
        "line ends of the file.",
        check,
        SEEDS,
        (*WORDS, "\u00a0".encode(), "\ufb01".encode(), b"\x0c", b"\x1c", "\u2028".encode(), b"return", b"if x:"),
        400,
    ),
)
