"""Files that users of coding agents keep in their repositories, and what must come out of each."""

from __future__ import annotations

from typing import Any

import msgspec

from support.data import load


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One project's files, and what they must become."""

    name: str
    files: dict[str, str]
    agents: dict[str, dict[str, Any]] = {}
    settings: dict[str, Any] = {}
    problems: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()


class Shapes(msgspec.Struct, forbid_unknown_fields=True):
    """One file of the corpus."""

    shape: list[Shape]


def shapes(kind: str) -> list[Shape]:
    """Return the shapes of one kind of file."""
    return load(f"agent_files/{kind}.toml", Shapes).shape


RULES = [f"{number}. Check the rule number {number} of the handbook." for number in range(1, 801)]
LONG_PROMPT = Shape(
    "long_prompt",
    {
        ".opencode/agent/verbose.md": "---\ndescription: Has much to say\nsteps: 40\n---\n"
        + "".join(f"{rule}\n" for rule in RULES)
    },
    {"verbose": {"description": "Has much to say", "steps": 40, "prompt": "\n".join(RULES)}},
)
MANY_AT_ONCE = Shape(
    "many_at_once",
    {
        f".claude/agents/team-{letter}.md": (
            f"---\nname: team-{letter}\ndescription: Member {letter}\nmodel: haiku\n---\nYou are {letter}.\n"
        )
        for letter in "abcdefghijkl"
    },
    {
        f"team-{letter}": {"description": f"Member {letter}", "model": "haiku", "prompt": f"You are {letter}."}
        for letter in "abcdefghijkl"
    },
)
THIRTY_AGENTS = Shape(
    "thirty_agents",
    {
        "AGENTS.md": "Thirty hands make light work.\n\n"
        + "\n".join(
            f"---\nname: hand-{number:02}\ndescription: Does chore {number}\nmode: subagent\nsteps: {number}\n---\n"
            f"Chore {number} is yours.\n"
            for number in range(1, 31)
        )
    },
    {
        f"hand-{number:02}": {
            "description": f"Does chore {number}",
            "mode": "subagent",
            "steps": number,
            "prompt": f"Chore {number} is yours.",
        }
        for number in range(1, 31)
    },
    instructions=("Thirty hands make light work.",),
)
VERY_LONG = Shape(
    "very_long",
    {
        "AGENTS.md": "# The long list\n\nThe first rule: read on.\n\n"
        + "".join(f"- Rule {number}: module {number} owns table {number}.\n" for number in range(1, 1501))
    },
    instructions=("The first rule: read on.",),
)

OPENCODE_JSON = shapes("opencode_json")
OPENCODE_AGENTS = [*shapes("opencode_agents"), LONG_PROMPT]
CLAUDE_AGENTS = [*shapes("claude_agents"), MANY_AT_ONCE]
AGENTS_MD = [*shapes("agents_md"), THIRTY_AGENTS, VERY_LONG]
