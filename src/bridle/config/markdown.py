"""Reads Markdown definitions: agents in OpenCode, Claude Code and AGENTS.md format, and slash commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bridle.config.import_agents import Imported, Table, agent_from_claude, agent_from_opencode, not_taken
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_bounded, read_text
from bridle.workspace.frontmatter import Document, document, fields

MOST_BYTES = 1_000_000
MOST_PINNED = 50_000_000
"""Size limit for files that are only fingerprinted, not parsed."""
MOST_AGENTS = 100
MOST_FILES = 500
HEAD_LINE = re.compile(r"^name:", re.MULTILINE)
NAMED = re.compile(r"^name:[ \t]*[\"']?([\w/-]+)", re.MULTILINE)

Made = tuple[str, Table, list[str]]
"""The name of a definition, its table, and its unsupported keys."""


def opencode_agents(folder: Path) -> Iterator[Imported]:
    """Yield the agents of an OpenCode folder, named by relative path; those in a `mode` folder are primary."""
    primary = folder.name.startswith("mode")

    def made(read: Document, path: Path, name: str) -> Made:
        given = {"prompt": read.body.strip(), **read.head} if read.body.strip() else read.head
        table, unknown = agent_from_opencode(given, path.parent, f"agents.{name}")
        return name, {"mode": "primary", **table} if primary else table, unknown

    return _definitions(folder, "agent", made)


def claude_agents(folder: Path) -> Iterator[Imported]:
    """Yield the agents of a Claude Code folder, named by their `name` field or else by file name."""
    seen: set[str] = set()

    def made(read: Document, _: Path, file: str) -> Made:
        name = str(read.head.get("name") or file).strip()
        if name in seen:
            raise ConfigError(f"there is another one of the name {name}")
        seen.add(name)
        return name, *agent_from_claude({**read.head, "prompt": read.body.strip() or None}, f"agents.{name}")

    return _definitions(folder, "agent", made, with_folders=False)


def commands(folder: Path) -> Iterator[Imported]:
    """Yield the commands of a folder, named by relative path."""

    def made(read: Document, _: Path, name: str) -> Made:
        known = ("description", "agent", "model")
        table: Table = {key: read.head[key] for key in known if isinstance(read.head.get(key), str) and read.head[key]}
        if table.get("model") == "inherit":
            del table["model"]
        if read.head.get("subtask") is True:
            table["subtask"] = True
        left = sorted(key for key in read.head if key not in (*known, "subtask"))
        return name, {**table, "template": read.body.strip()}, left

    return _definitions(folder, "command", made)


def _definitions(
    folder: Path, kind: str, made: Callable[[Document, Path, str], Made], *, with_folders: bool = True
) -> Iterator[Imported]:
    """Yield the definition in each Markdown file; for an invalid one, the problem and its possible names.

    `made` gets the content, the path, and the file's name, which begins with its folders if `with_folders`.
    """
    for path in sorted(path for path in folder.rglob("*.md") if path.is_file())[:MOST_FILES]:
        name = str(path.relative_to(folder).with_suffix("")) if with_folders else path.stem
        text = ""
        try:
            text = _text(path)
            called, table, unknown = made(document(text), path, name)
        except ConfigError as error:
            names = (name, *NAMED.findall(text)) if kind == "agent" else ()
            yield Imported(path, {}, [f"the {kind} {name} is left out: {error}"], names)
        else:
            yield Imported(path, {f"{kind}s": {called: table}}, not_taken(unknown))


def agents_md(path: Path) -> Iterator[Imported]:
    """Yield the agents of an `AGENTS.md`, each with its own front matter."""
    text = ""
    try:
        text = _text(path)
        _, blocks = split(text)
    except ConfigError as error:
        yield Imported(path, {}, [f"its agents are left out: {error}"], tuple(NAMED.findall(text)))
        return
    seen: set[str] = set()
    for head, body in blocks:
        name = str(head["name"]).strip()
        try:
            if name in seen:
                raise ConfigError("there is another one of that name above it")
            table, unknown = agent_from_opencode({"prompt": body, **head}, path.parent, f"agents.{name}")
        except ConfigError as error:
            broken = () if name in seen else (name,)
            yield Imported(path, {}, [f"the agent {name} is left out: {error}"], broken)
            continue
        seen.add(name)
        yield Imported(path, {"agents": {name: table}}, not_taken(unknown, f"{name}: "))


def definitions_in(path: Path) -> bytes:
    """Return the agent definitions of an `AGENTS.md` as bytes, for a fingerprint; empty if it has none."""
    try:
        _, blocks = split(_text(path))
    except ConfigError:
        return read_bounded(path, MOST_PINNED)
    return repr(blocks).encode("utf-8", errors="replace") if blocks else b""


def split(text: str) -> tuple[str, list[tuple[dict[str, Any], str]]]:
    """Return the text before the first agent, and each agent's front matter, which must have a name, and prompt.

    Raises `ConfigError` if something looks like front matter and cannot be parsed.
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
    """Return start and end of all `---` lines outside code blocks."""
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
            # Every line looks like front matter, so it was meant as one.
            raise ConfigError(
                f"the front matter that begins with {text.partition(chr(10))[0]!r} is invalid: {error}"
            ) from error
        return None
    return head if isinstance(head.get("name"), str) and head["name"].strip() else None


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}") from error
