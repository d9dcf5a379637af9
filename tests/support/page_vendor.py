"""Fetches the page's libraries from npm, checks their hashes, and writes them with their licences: `scripts/vendor`.

Without words it writes anew what `LIBRARIES` names. The page's modules import by relative paths, since browsers resolve
bare names only through inline import maps, which the page's policy forbids.
"""

import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

from support.paths import ROOT

VENDOR = ROOT / "src" / "bridle" / "surfaces" / "server" / "page" / "static" / "vendor"
LISTING = VENDOR / "versions.json"
LANGUAGES = (
    *("bash", "c", "cpp", "csharp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json", "kotlin"),
    *("lua", "makefile", "markdown", "perl", "php", "python", "ruby", "rust", "scala", "sql", "swift", "typescript"),
    *("xml", "yaml"),
)
RELATIVE = {
    '"preact/hooks"': '"./hooks.js"',
    '"@preact/signals-core"': '"./signals-core.js"',
    '"preact"': '"./preact.js"',
}


class Library(NamedTuple):
    """A package of npm, its hash as npm publishes it, and the files to take, by the names that they get."""

    package: str
    version: str
    integrity: str
    licence: str
    files: dict[str, str]


LIBRARIES = (
    Library(
        "preact",
        "11.2.0",
        "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        "MIT",
        {"preact.js": "dist/preact.mjs", "hooks.js": "hooks/dist/hooks.mjs"},
    ),
    Library(
        "@preact/signals-core",
        "1.14.5",
        "sha512-vcRv7Ityz5JVmeiVqIluLFzT/PDS/AlhHUpw3/aUWqcVUs6bDGIPXE/6RSC4evBNWYvnniozg5Syfj33al3gkg==",
        "MIT",
        {"signals-core.js": "dist/signals-core.mjs"},
    ),
    Library(
        "@preact/signals",
        "2.11.4",
        "sha512-Rb+5RPo9gWSaHtzJeauhHxiC8KP/IF2DEPkHPEOGOnuy2wnJzRqyeLRankUCYd6ADqtxS6GnWGv6Ie343d8aYw==",
        "MIT",
        {"signals.js": "dist/signals.mjs"},
    ),
    Library(
        "htm",
        "3.1.1",
        "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        "Apache-2.0",
        {"htm.js": "dist/htm.mjs"},
    ),
    Library(
        "marked",
        "18.2.1",
        "sha512-ii4bxCTCqqwpT86XZWgJNs+ZnAIZksmLGYMViWA7PDIXYIeNo1x6cDdX3JOip9NM/cI6p8z57FxliACboTruMA==",
        "MIT",
        {"marked.js": "lib/marked.esm.js"},
    ),
    Library(
        "@highlightjs/cdn-assets",
        "11.12.0",
        "sha512-KvOKXODaiFmId9xaq3xc5xCL66wVLUuOngDbO9B/kewbFTqdGbn2nJxNhN3H5R1cgDTVj6R8vH0zgiNDEGjpDw==",
        "BSD-3-Clause",
        {
            "highlight.js": "es/core.min.js",
            **{f"languages/{name}.js": f"es/languages/{name}.min.js" for name in LANGUAGES},
        },
    ),
)


def fetched(package: str, version: str, integrity: str) -> tarfile.TarFile:
    """Return a package from npm; raises `SystemExit` if it has another hash."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["npm", "pack", "--silent", "--pack-destination", folder, f"{package}@{version}"]
        subprocess.run(words, check=True, capture_output=True)
        (archive,) = Path(folder).iterdir()
        raw = archive.read_bytes()
    found = "sha512-" + b64encode(hashlib.sha512(raw).digest()).decode()
    if found != integrity:
        raise SystemExit(f"vendor: {package} {version} has the hash {found}, and not {integrity}")
    return tarfile.open(fileobj=io.BytesIO(raw))


def text_of(archive: tarfile.TarFile, path: str) -> str:
    """Return a file of a package."""
    file = archive.extractfile(f"package/{path}")
    assert file is not None
    return file.read().decode()


def written(text: str) -> str:
    """Return a module as the page serves it."""
    for bare, relative in RELATIVE.items():
        text = text.replace(f"from{bare}", f"from{relative}").replace(f"from {bare}", f"from {relative}")
    text = re.sub(r"\n?//# sourceMappingURL=.*", "", text)
    # The page's own modules are checked as TypeScript, and these are not.
    return f"// @ts-nocheck\n{text.strip()}\n"


def digest(text: str) -> str:
    """Return the hash of a file as the listing has it."""
    return hashlib.sha256(text.encode()).hexdigest()


def vendor() -> None:
    """Write all libraries, their licences and the listing."""
    listing = []
    for library in LIBRARIES:
        archive = fetched(library.package, library.version, library.integrity)
        hashes = {}
        for name, path in library.files.items():
            made = written(text_of(archive, path))
            target = VENDOR / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(made, encoding="utf-8")
            hashes[name] = digest(made)
        licence = f"licences/{library.package.replace('@', '').replace('/', '-')}.txt"
        (VENDOR / licence).parent.mkdir(parents=True, exist_ok=True)
        (VENDOR / licence).write_text(text_of(archive, "LICENSE").rstrip() + "\n", encoding="utf-8")
        listing.append(
            {
                "package": library.package,
                "version": library.version,
                "integrity": library.integrity,
                "licence": library.licence,
                "licence_file": licence,
                "files": hashes,
            }
        )
    LISTING.write_text(json.dumps(listing, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    vendor()
