"""Write the README of every package: its docstring, its own words, and a table of exactly its modules."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from support.paths import ROOT

SOURCE = ROOT / "src" / "bridle"
HEAD = "| module | subject |\n| --- | --- |\n"


def packages() -> list[Path]:
    """Return the folders of all packages with more than an `__init__.py`."""
    found = (path.parent for path in sorted(SOURCE.rglob("__init__.py")))
    return [folder for folder in found if folder != SOURCE and len(list(folder.glob("*.py"))) > 1]


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def readme(folder: Path) -> str:
    """Return the README that a package should have; words between its first line and its table are kept."""
    path = folder / "README.md"
    before = path.read_text(encoding="utf-8").partition(HEAD)[0] if path.exists() else ""
    own = before.split("\n\n", 2)[2].strip() if before.count("\n\n") > 1 else ""
    modules = [module for module in sorted(folder.glob("*.py")) if module.name != "__init__.py"]
    below = [package for package in sorted(folder.iterdir()) if (package / "__init__.py").exists()]
    rows = [
        f"| [{package.name}/]({package.name}/README.md) | {first_line(package / '__init__.py')} |" for package in below
    ]
    rows += [f"| [{module.name}]({module.name}) | {first_line(module)} |" for module in modules]
    title = folder.relative_to(SOURCE.parent).as_posix()
    pieces = [f"# {title}", first_line(folder / "__init__.py"), *([own] if own else []), HEAD + "\n".join(rows)]
    return "\n\n".join(pieces) + "\n"


def main() -> None:
    """Write all of them."""
    for folder in packages():
        (folder / "README.md").write_text(readme(folder), encoding="utf-8")
        print(folder.relative_to(ROOT).as_posix(), file=sys.stderr)


if __name__ == "__main__":
    main()
