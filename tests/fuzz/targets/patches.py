"""A patch and the file that it changes, parted by a line of `=====`."""

from collections import Counter

from bridle.errors import ToolFailed
from bridle.tools.patch_format import Added, Deleted, Updated, pieces, updated
from fuzz.target import Target

PARTED = "\n=====\n"


def check(data: bytes) -> None:
    patch, _, text = data.decode("utf-8", "replace").partition(PARTED)
    try:
        found = pieces(patch)
    except ToolFailed as error:
        assert str(error)
        return
    assert found and all(isinstance(piece, (Added, Deleted, Updated)) for piece in found)
    for piece in found:
        if not isinstance(piece, Updated):
            continue
        try:
            after = updated(text, piece.hunks, piece.path)
        except ToolFailed as error:
            assert piece.path in str(error)
            continue
        signed = [line for hunk in piece.hunks for line in hunk.lines]
        gone, come = lines(text) - lines(after), lines(after) - lines(text)
        assert squashed(gone) <= bare(signed, "-"), "a line is gone that no change removes"
        assert squashed(come) <= bare(signed, "+"), "a line has come that no change adds"
        size = len(text.split("\n")) if text else int(bool(after)) * (1 + after.endswith("\n"))
        counted = Counter(sign for sign, _ in signed)
        assert not text or not after or len(after.split("\n")) == size + counted["+"] - counted["-"]
        assert not text.endswith("\n") or not after or after.endswith("\n"), "the last line end is gone"


def lines(text: str) -> Counter[str]:
    return Counter(text.removesuffix("\n").split("\n"))


def squashed(counted: Counter[str]) -> Counter[str]:
    made: Counter[str] = Counter()
    for line, count in counted.items():
        if line.strip():
            made[line.strip()] += count
    return made


def bare(signed: list[tuple[str, str]], sign: str) -> Counter[str]:
    return Counter(text.strip() for given, text in signed if given == sign)


FILE = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n"
PATCHES = (
    "*** Begin Patch\n*** Update File: a.py\n@@ def b():\n     x = 1\n-    return x\n+    return x + 1\n*** End Patch",
    "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-def a():\n+def c():\n x = 1\n@@ def b():\n"
    "-    return x\n*** End of File\n*** Add File: n\n+one\n+two\n*** Delete File: d\n*** End Patch",
    "<<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n+# end\n*** End of File\n*** End Patch\nEOF",
)
WORDS = (
    *(b"*** Begin Patch\n", b"*** End Patch", b"*** Update File: ", b"*** Add File: ", b"*** Delete File: ", b"@@ "),
    *(
        b"*** Move to: ",
        b"*** End of File\n",
        b"\n-",
        b"\n+",
        b"\n ",
        b"\r\n",
        PARTED.encode(),
        b"x = 1",
        b"\t",
        b"    ",
    ),
)
TARGETS = (
    Target(
        "patches",
        "A patch changes the lines that it names and no other, or is refused in words; the last line end stays.",
        check,
        tuple(f"{patch}{PARTED}{FILE}".encode() for patch in PATCHES),
        WORDS,
        1_000,
    ),
)
