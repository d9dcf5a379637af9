"""Checks the page's modules as TypeScript, with the compiler from npm in a cache of the tests."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from support.paths import ROOT

VERSION = "7.0.2"
STATIC = ROOT / "src" / "bridle" / "surfaces" / "server" / "page" / "static"
OPTIONS = {
    "allowJs": True,
    "checkJs": True,
    "noEmit": True,
    "strict": True,
    # Properties of views are described where they are not obvious.
    "noImplicitAny": False,
    "target": "ES2024",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "lib": ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    "types": [],
}


def compiler() -> Path:
    """Return the compiler, installed on first use."""
    folder = Path.home() / ".cache" / "bridle-tests" / f"typescript-{VERSION}"
    program = folder / "node_modules" / ".bin" / "tsc"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
        subprocess.run([*words, f"typescript@{VERSION}"], check=True, capture_output=True)
    return program


def problems(folder: Path = STATIC) -> str:
    """Return what the compiler says about the modules of a folder; empty if all is well."""
    with tempfile.TemporaryDirectory() as made:
        project = Path(made) / "tsconfig.json"
        project.write_text(json.dumps({"compilerOptions": OPTIONS, "include": [f"{folder}/**/*.js"]}))
        done = subprocess.run([compiler(), "-p", project], capture_output=True, text=True, check=False, cwd=folder)
    return done.stdout + done.stderr


if __name__ == "__main__":
    found = problems()
    print(found or "the page's modules have no type errors")
    sys.exit(bool(found))
