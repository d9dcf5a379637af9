"""Skills: folders with a SKILL.md that says what they are good for and how it is done."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bridle.errors import ConfigError
from bridle.workspace.frontmatter import document

MOST_SKILLS = 200
MOST_BYTES = 200_000
LONGEST = 300


class Skill(msgspec.Struct, frozen=True):
    """A skill as it is listed; its words are read when it is loaded."""

    name: str
    description: str
    folder: Path


def find_skills(folders: Iterable[Path]) -> dict[str, Skill]:
    """The skills below some folders; of two with one name the first counts."""
    found: dict[str, Skill] = {}
    for folder in folders:
        for path in sorted(folder.glob("*/SKILL.md")) if folder.is_dir() else ():
            head = _head(path)
            name = head.get("name") or path.parent.name
            if name not in found and head.get("description") and len(found) < MOST_SKILLS:
                found[name] = Skill(name, " ".join(head["description"].split())[:LONGEST], path.parent)
    return found


def skill_text(skill: Skill) -> str:
    """What a skill says, without its head; raises `OSError`."""
    with (skill.folder / "SKILL.md").open("rb") as file:
        text = file.read(MOST_BYTES).decode("utf-8", errors="replace")
    return re.sub(r"\A\ufeff?---\s*\n.*?\n---\s*\n", "", text, count=1, flags=re.DOTALL).strip()


def _head(path: Path) -> dict[str, str]:
    """The fields between the first two lines of dashes. A colon that strict YAML refuses does no harm."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return {}
    try:
        fields = document(text).head
    except ConfigError:
        head = text.partition("\n---")[0]
        fields = dict(re.findall(r"^(\w[\w-]*):[ \t]*(.+)$", head, flags=re.MULTILINE))
    return {key: str(value).strip("\"' ") for key, value in fields.items() if isinstance(value, (str, int, float))}
