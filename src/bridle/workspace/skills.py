"""Finds skills, folders with a SKILL.md, and reads their descriptions and texts; the `skill` tool offers them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bridle.errors import ConfigError
from bridle.workspace.bounded_read import head_or_nothing, read_head
from bridle.workspace.frontmatter import document

MOST_SKILLS = 200
MOST_BYTES = 200_000
LONGEST = 300


class Skill(msgspec.Struct, frozen=True):
    """A skill as it is listed; its text is read when it is loaded."""

    name: str
    description: str
    folder: Path
    within: Path | None = None
    """The untrusted project that contains it; a link out of that project is followed only with permission."""

    @property
    def outside(self) -> Path | None:
        """Return the real file if it or its folder is a link out of an untrusted project; else None."""
        if self.within is None:
            return None
        top, folder, real = (path.resolve() for path in (self.within, self.folder, self.folder / "SKILL.md"))
        return None if real.is_relative_to(top) and folder.is_relative_to(top) else real


def find_skills(folders: Iterable[Path], within: Path | None = None) -> dict[str, Skill]:
    """Return the skills below some folders; of two with one name the first counts.

    `within` is the project, if it is untrusted: nothing is read there through a link that leads out of it.
    """
    found: dict[str, Skill] = {}
    for folder in folders:
        for path in sorted(folder.glob("*/SKILL.md")) if folder.is_dir() else ():
            skill = _found(path, within)
            if skill is not None and skill.name not in found and len(found) < MOST_SKILLS:
                found[skill.name] = skill
    return found


def _found(path: Path, within: Path | None) -> Skill | None:
    linked = Skill(path.parent.name, "a link out of this project", path.parent, within)
    if linked.outside is not None:
        return linked
    head = _head(path)
    name, description = head.get("name") or path.parent.name, " ".join(head.get("description", "").split())
    return Skill(name, description[:LONGEST], path.parent, within) if description else None


def skill_text(skill: Skill) -> str:
    """Return the text of a skill without its front matter; raises `OSError`."""
    text = read_head(skill.folder / "SKILL.md", MOST_BYTES).decode("utf-8", errors="replace")
    return re.sub(r"\A\ufeff?---\s*\n.*?\n---\s*\n", "", text, count=1, flags=re.DOTALL).strip()


def _head(path: Path) -> dict[str, str]:
    """Return the fields of the front matter. Accepts colons that strict YAML refuses."""
    text = head_or_nothing(path, MOST_BYTES).decode("utf-8", errors="replace")
    try:
        fields = document(text).head
    except ConfigError:
        head = text.partition("\n---")[0]
        fields = dict(re.findall(r"^(\w[\w-]*):[ \t]*(.+)$", head, flags=re.MULTILINE))
    return {key: str(value).strip("\"' ") for key, value in fields.items() if isinstance(value, (str, int, float))}
