"""Agents and commands from Markdown files: a head of fields, and the words of the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridle.config.import_agents import Table, agent_from_claude, agent_from_opencode
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_bounded, read_text
from bridle.workspace.frontmatter import Document, document, fields

MOST_BYTES = 1_000_000
MOST_PINNED = 50_000_000
"""For what is only compared, and never understood."""
MOST_AGENTS = 100
MOST_FILES = 500
HEAD_LINE = re.compile(r"^name:", re.MULTILINE)
NAMED = re.compile(r"^name:[ \t]*[\"']?([\w/-]+)", re.MULTILINE)

Found = tuple[Path, Table, list[str], tuple[str, ...]]


def opencode_agents(folder: Path) -> Iterator[Found]:
    """The agents of a folder, each called by its path below it; those of a folder of modes are primary ones."""
    primary = folder.name.startswith("mode")
    for path in _files(folder):
        name = str(path.relative_to(folder).with_suffix(""))

        def made(read: Document, path: Path = path, name: str = name) -> tuple[str, Table, list[str]]:
            given = {"prompt": read.body.strip(), **read.head} if read.body.strip() else read.head
            table, unknown = agent_from_opencode(given, path.parent, f"agents.{name}")
            return name, {"mode": "primary", **table} if primary else table, unknown

        yield _agent(path, name, made)


def claude_agents(folder: Path) -> Iterator[Found]:
    """The agents of a folder of Claude's, each called by its name or by its file's."""
    seen: set[str] = set()
    for path in _files(folder):

        def made(read: Document, path: Path = path) -> tuple[str, Table, list[str]]:
            name = str(read.head.get("name") or path.stem).strip()
            if name in seen:
                raise ConfigError(f"there is another one of the name {name}")
            seen.add(name)
            return name, *agent_from_claude({**read.head, "prompt": read.body.strip() or None}, f"agents.{name}")

        yield _agent(path, path.stem, made)


def _agent(path: Path, name: str, made: Any) -> Found:
    """One agent of one file; one that cannot be read is left out, and named."""
    text = ""
    try:
        text = _text(path)
        called, table, unknown = made(document(text))
    except ConfigError as error:
        names = (name, *NAMED.findall(text))
        return path, {}, [f"the agent {name} is left out: {error}"], names
    problems = [f"not taken over: {', '.join(unknown)}"] if unknown else []
    return path, {"agents": {called: table}}, problems, ()


def commands(folder: Path) -> Iterator[Found]:
    """The commands of a folder, each called by its path below it."""
    for path in _files(folder):
        name = str(path.relative_to(folder).with_suffix(""))
        try:
            read = document(_text(path))
        except ConfigError as error:
            yield path, {}, [f"the command {name} is left out: {error}"], ()
            continue
        known = ("description", "agent", "model")
        table: Table = {key: read.head[key] for key in known if isinstance(read.head.get(key), str) and read.head[key]}
        if table.get("model") == "inherit":
            del table["model"]
        if read.head.get("subtask") is True:
            table["subtask"] = True
        left = sorted(str(key) for key in read.head if key not in (*known, "subtask"))
        problems = [f"not taken over: {', '.join(left)}"] if left else []
        yield path, {"commands": {name: {**table, "template": read.body.strip()}}}, problems, ()


def agents_md(path: Path) -> Iterator[Found]:
    """The agents of an `AGENTS.md` with one head for each of them."""
    text = ""
    try:
        text = _text(path)
        _, blocks = split(text)
    except ConfigError as error:
        yield path, {}, [f"its agents are left out: {error}"], tuple(NAMED.findall(text))
        return
    seen: set[str] = set()
    for head, body in blocks:
        name = str(head["name"]).strip()
        try:
            if name in seen:
                raise ConfigError("there is another one of that name above it")
            table, unknown = agent_from_opencode({"prompt": body, **head}, path.parent, f"agents.{name}")
        except ConfigError as error:
            yield path, {}, [f"the agent {name} is left out: {error}"], () if name in seen else (name,)
            continue
        seen.add(name)
        problems = [f"{name}: not taken over: {', '.join(unknown)}"] if unknown else []
        yield path, {"agents": {name: table}}, problems, ()


def definitions_in(path: Path) -> bytes:
    """What an `AGENTS.md` defines, apart from its words; nothing if it is one without agents."""
    try:
        _, blocks = split(_text(path))
    except ConfigError:
        return read_bounded(path, MOST_PINNED)
    return repr(blocks).encode("utf-8", errors="replace") if blocks else b""


def split(text: str) -> tuple[str, list[tuple[dict[str, Any], str]]]:
    """The words before the first agent, and each agent's head and words; a head is one that names its agent.

    Raises `ConfigError` if something begins like a head and cannot be read.
    """
    text = text.removeprefix("\ufeff")
    lines = _dashes(text)
    heads: list[tuple[int, int, dict[str, Any]]] = []
    place = 0
    while place + 1 < len(lines):
        (start, after), (end, behind) = lines[place], lines[place + 1]
        head = _head(text[after:end])
        if head is not None:
            heads.append((start, behind, head))
        if len(heads) > MOST_AGENTS:
            raise ConfigError(f"it has more than {MOST_AGENTS} agents")
        place += 1 if head is None else 2
    if not heads:
        return text, []
    ends = [*(start for start, _, _ in heads[1:]), len(text)]
    blocks = [(head, text[after:until].strip()) for (_, after, head), until in zip(heads, ends, strict=True)]
    return text[: heads[0][0]], blocks


def _dashes(text: str) -> list[tuple[int, int]]:
    """Where lines of dashes begin and end, but for those in a block of code."""
    found: list[tuple[int, int]] = []
    fence = ""
    place = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif line.rstrip() == "---":
            found.append((place, place + len(line)))
        place += len(line)
    return found


def _head(text: str) -> dict[str, Any] | None:
    if not HEAD_LINE.search(text):
        return None
    try:
        head = fields(text)
    except ConfigError as error:
        if all(re.match(r"[\w-]+:|[ \t#-]|$", line) for line in text.splitlines()):
            # It looks like a head from its first line to its last, so somebody meant it as one.
            raise ConfigError(
                f"the head that begins with {text.partition(chr(10))[0]!r} makes no sense: {error}"
            ) from error
        return None
    return head if isinstance(head.get("name"), str) and head["name"].strip() else None


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.md") if path.is_file())[:MOST_FILES]


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}") from error
