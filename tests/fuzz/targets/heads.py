"""Heads of Markdown files, and the agents and commands that they define."""

import datetime
import shutil
import tempfile
from pathlib import Path

import yaml

from bridle.config.markdown import agents_md, claude_agents, commands, definitions_in, opencode_agents, split
from bridle.errors import ConfigError
from bridle.workspace.frontmatter import HEAD, document
from bridle.workspace.skills import find_skills, skill_text
from fuzz.target import Target

PLAIN = (str, int, float, bool, type(None), datetime.date, datetime.datetime, bytes, list, tuple, dict, set)


def values(value: object) -> list[object]:
    below = [*value, *value.values()] if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    return [value, *(inner for each in below for inner in values(each))]


def reads(text: str) -> None:
    try:
        found = document(text)
    except ConfigError as error:
        assert str(error)
        return
    assert text.endswith(found.body), "words were changed"
    assert all(type(value) in PLAIN for value in values(found.head)), "something other than data was made"
    head = HEAD.match(text.removeprefix("\ufeff"))
    if head is not None:
        try:
            same = yaml.safe_load(head[1]) or {}
        except (yaml.YAMLError, ValueError, RecursionError, TypeError):
            return
        assert repr(found.head) == repr({str(key): value for key, value in same.items()}), "read as something else"


def divides(text: str) -> None:
    try:
        before, blocks = split(text)
    except ConfigError as error:
        assert str(error)
        return
    words = [before, *(body for _, body in blocks)]
    place = 0
    for each in words:
        place = text.index(each, place) + len(each)


def defines(data: bytes) -> None:
    """One file in the place of each kind; whatever is wrong with it is told, and named by its file."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        path = folder / "skill" / "SKILL.md"
        path.parent.mkdir()
        path.write_bytes(data)
        for found in (opencode_agents, claude_agents, commands):
            for read in found(folder):
                assert read.path == path and (read.table or read.problems)
                assert all(isinstance(name, str) for name in read.broken)
        for read in agents_md(path):
            assert read.path == path and (read.table or read.problems)
        assert isinstance(definitions_in(path), bytes)
        for skill in find_skills([folder]).values():
            assert skill.name and skill.description and "\n" not in skill.description
            skill_text(skill)
    finally:
        shutil.rmtree(folder)


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    reads(text)
    divides(text)
    defines(data)


SEEDS = (
    b"---\nname: careful\ndescription: Looks: twice\nmode: subagent\ntools:\n  bash: false\n  write: true\nsteps: 3\n"
    b"permission:\n  bash:\n    '*': ask\n    'git *': allow\nmodel: a/b\ntemperature: 0.2\n---\nBe careful.\n",
    b"---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep, Bash\nmodel: inherit\ncolor: red\n---\n\nReview.\n",
    b"---\ndescription: Test\nagent: build\n---\nRun $ARGUMENTS and !`ls` with @a.py\n",
    b"# Rules\n\n---\nname: one\nsteps: 2\n---\nFirst.\n\n```\n---\nname: no\n---\n```\n---\nname: two\n---\nSecond.\n",
)
WORDS = (
    *(
        b"---\n",
        b"name: ",
        b"steps: ",
        b"maxSteps: ",
        b"tools: ",
        b"permission: ",
        b"mode: primary\n",
        b"```\n",
        b"~~~",
    ),
    *(
        b"!!python/object/apply:os.system [ls]",
        b"!!binary aGk=",
        b"!!set {a, b}",
        b"!!timestamp 2001-01-01",
        b"&a ",
        b"*a",
    ),
    *(
        b"<<: ",
        b"? ",
        b"- ",
        b"|\n  ",
        b">-\n",
        b"{a: b}",
        b"[a, b]",
        b": ",
        b"#",
        b"%YAML 1.1\n",
        b"!!omap",
        b"!!pairs",
    ),
    *(
        b"0o7",
        b"1_000",
        b"12:30:45",
        b".inf",
        b".nan",
        b"yes",
        b"~",
        b"= ",
        b"'",
        b'"',
        b"\t",
        b"2001-99-99",
        b"!!int x",
    ),
)
TARGETS = (
    Target(
        "heads",
        "A head is data that strict YAML reads in the same way, or a refusal in words; the words below it stay as they "
        "are, and no file of agents, commands or skills raises anything.",
        check,
        SEEDS,
        WORDS,
        100,
    ),
)
