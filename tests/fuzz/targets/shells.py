"""Command lines, taken apart to learn what they need to be allowed."""

import re
import shlex

from support.shell_corpus import EVERYDAY, ROWS
from support.shell_judge import PROJECT

from bridle.core.permission import Access, Rule, judge, strictest
from bridle.shell.program_names import CALM
from bridle.shell.required_access import needs_of
from bridle.shell.script import taken_apart
from fuzz.target import Target

SIMPLE = re.compile(r"""(?P<name>[a-z]+)( [\w./,:+@%-]+| '[^'\n]*'| "[^"\\$`!\n]*")*""", re.ASCII)
DENIED = (Rule("bash", "*", "allow"), Rule("bash", "curl *", "deny"))


def check(data: bytes) -> None:
    line = data.decode("utf-8", "replace")
    script = taken_apart(line)
    needs = needs_of(line, PROJECT, PROJECT)
    assert all(isinstance(need, Access) for need in needs) and len(needs) <= 20 * len(line) + 20
    assert needs == needs_of(line, PROJECT, PROJECT)
    simple = SIMPLE.fullmatch(line)
    if simple and simple["name"] in CALM and not script.doubts:
        (only,) = script.commands
        assert [word.text for word in only.words] == shlex.split(line), "other words than a shell would see"
    # Whatever stands before it, a command on a line of its own is found, or the line is doubted.
    if not script.doubts and not taken_apart(f"{line}\ncurl x").doubts:
        found = strictest(judge(DENIED, need) for need in needs_of(f"{line}\ncurl x", PROJECT, PROJECT))
        assert found == "deny" or "curl x" in line or heredoc(line), "a command was overlooked"


def heredoc(line: str) -> bool:
    """Whether what follows may belong to the line: to a document in it, or because its last character says so."""
    return "<<" in line or line.endswith("\\")


# Every tenth is enough to begin with; all of them are tried by tests/shell.
SEEDS = tuple(line.encode() for line in sorted({row.command for row in ROWS} | set(EVERYDAY))[::10])
WORDS = (
    *(b"$(", b"`", b")", b"${", b"}", b"<<E\n", b"<<<", b"|", b"|&", b"&&", b"||", b";", b";;", b"&", b"\n", b"\\\n"),
    *(b"'", b'"', b"$'", b'$"', b"\\", b"#", b"!", b"((", b"))", b"[[", b"]]", b"if ", b"then ", b"fi", b"for x in "),
    *(b"do ", b"done", b"case x in ", b"esac", b"function f { ", b"f() {", b"eval ", b"exec ", b"env ", b"xargs "),
    *(
        b"bash -c ",
        b"> f",
        b">> ",
        b"2>&1",
        b"<(",
        b">(",
        b"$x",
        b"x=",
        b"x+=",
        b"$((",
        b"~/",
        b"*",
        b"{a,b}",
        b"curl x",
    ),
    *(b"sed -i ", b"find . -exec ", b" \\;", b"rm ", b"git ", b"cd ..", b"alias x=", b"trap '", b"coproc ", b"time "),
)
TARGETS = (
    Target(
        "shell",
        "A line is taken apart without raising, in the words of a shell where it is simple; no command that follows it "
        "is overlooked unless the line is doubted.",
        check,
        SEEDS,
        WORDS,
        300,
    ),
)
