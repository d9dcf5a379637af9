"""Checks of the sources: a clean tree, one version, and a dated section of the change log."""

from __future__ import annotations

import re
import tomllib
from datetime import date

from release.release import Fault, Release

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
DATED = re.compile(r"(?P<version>\S+), (?P<date>\d{4}-\d\d-\d\d)")
WHEEL = re.compile(r"bridle-(\d[^-\s]*)-py3-none-any\.whl")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def tree(release: Release) -> str:
    """The tree has no change and no file that no commit has."""
    changed = release.git("status", "--porcelain")
    if changed:
        raise Fault(f"the tree is not clean:\n{changed}")
    return f"commit {release.commit[:12]}"


def version(release: Release) -> str:
    """pyproject.toml has the version; the lock file and the README agree, and the code does not repeat it."""
    wanted = release.version
    locked = tomllib.loads((release.root / "uv.lock").read_text())["package"]
    found = {
        "uv.lock": [each["version"] for each in locked if each["name"] == "bridle"],
        "README.md": WHEEL.findall((release.root / "README.md").read_text()),
    }
    for name, versions in found.items():
        if set(versions) != {wanted}:
            raise Fault(f"{name} says version {', '.join(versions) or 'nothing'}; pyproject.toml says {wanted}")
    repeated = [
        str(path.relative_to(release.root))
        for path in sorted((release.root / "src").rglob("*.py"))
        if f'"{wanted}"' in path.read_text()
    ]
    if repeated:
        raise Fault(f"{repeated[0]} repeats the version; `bridle.__version__` has it")
    return wanted


def changelog(release: Release) -> str:
    """The newest section is dated and of this version, has entries, and nothing waits under Unreleased."""
    _, *parts = SECTION.split(COMMENT.sub("", (release.root / "CHANGELOG.md").read_text()))
    sections = list(zip(parts[::2], parts[1::2], strict=True))
    waiting = [text for name, text in sections if name == "Unreleased" and "- " in text]
    if waiting:
        raise Fault("CHANGELOG.md still has entries under Unreleased")
    name, text = next(((name, text) for name, text in sections if name != "Unreleased"), ("no section", ""))
    found = DATED.fullmatch(name)
    if found is None or found["version"] != release.version:
        raise Fault(f'CHANGELOG.md begins with "{name}": "## {release.version}, YEAR-MONTH-DAY" is missing')
    try:
        day = date.fromisoformat(found["date"])
    except ValueError as error:
        raise Fault(f"CHANGELOG.md: {found['date']} is no date") from error
    if "- " not in text:
        raise Fault(f"CHANGELOG.md: the section of {release.version} has no entry")
    return f"dated {day}"
