"""Checks of what is built: wheel and sdist byte by byte, their contents, the bill of materials and the provenance."""

from __future__ import annotations

import json
import platform
import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from release.release import UV, Fault, Release, digest

NEEDED = (
    "py.typed",
    "journal/queries.sql",
    "config/starter.toml",
    "surfaces/tui/bridle.tcss",
    "surfaces/report/report.css",
    "surfaces/server/page/static/index.html",
)
NAME = re.compile(r"[A-Za-z0-9._-]+")
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:bridle:release:1"
NAMESPACE = "bridle-release"


def build(release: Release) -> str:
    """Two builds, of this folder and of a copy of its commit elsewhere, are equal byte by byte."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "source")
        copy.mkdir()
        release.run("git", "-C", release.root, "archive", "-o", f"{copy}.tar", release.commit)
        with tarfile.open(f"{copy}.tar") as archive:
            archive.extractall(copy, filter="data")
        first = _built(release, release.root, Path(scratch, "first"))
        second = _built(release, copy, Path(scratch, "second"))
        if first.keys() != second.keys() or {release.wheel.name, release.sdist.name} != first.keys():
            raise Fault(f"two builds made {sorted(first)} and {sorted(second)}")
        for name, path in first.items():
            if path.read_bytes() != second[name].read_bytes():
                raise Fault(f"two builds of {name} differ")
        release.out.mkdir(parents=True, exist_ok=True)
        for path in first.values():
            shutil.copy(path, release.out)
    return f"{release.wheel.name} and {release.sdist.name}, equal in two builds"


def _built(release: Release, source: Path, made: Path) -> dict[str, Path]:
    environment = {"SOURCE_DATE_EPOCH": release.epoch}
    release.run(UV, "build", "--quiet", "--out-dir", made, source, environment=environment)
    return {path.name: path for path in made.iterdir() if path.suffix in (".whl", ".gz")}


def contents(release: Release) -> str:
    """The wheel has every file of the package that git has, and nothing else."""
    with zipfile.ZipFile(release.wheel) as opened:
        listed = set(opened.namelist())
    data = f"bridle-{release.version}.data/data/"
    known = {path.removeprefix("src/") for path in release.git("ls-files", "src").splitlines()}
    known |= {path.replace("docs/manual/", data) for path in release.git("ls-files", "docs/manual").splitlines()}
    missing = (known | {f"bridle/{name}" for name in NEEDED}) - listed
    if missing:
        raise Fault(f"the wheel lacks {sorted(missing)[0]}")
    metadata = f"bridle-{release.version}.dist-info/"
    more = sorted(name for name in listed - known if not name.endswith("/") and not name.startswith(metadata))
    if more:
        raise Fault(f"the wheel has {more[0]}, which no commit has")
    return f"{len(listed)} files in the wheel"


def sbom(release: Release) -> str:
    """The bill of materials (CycloneDX, from uv.lock) has every dependency, with its version."""
    words = ("export", "--quiet", "--frozen", "--format", "cyclonedx1.5", "--no-default-groups", "--all-extras")
    made = json.loads(release.run(UV, *words))
    # These two say when and in which run it was made, and so differ each time.
    made.pop("serialNumber", None)
    made["metadata"].pop("timestamp", None)
    listed = {part["name"]: part.get("version") for part in made.get("components", [])}
    extras = [name for names in release.project["optional-dependencies"].values() for name in names]
    for written in [*release.project["dependencies"], *extras]:
        found = NAME.match(written)
        assert found is not None
        if not listed.get(found[0].lower()):
            raise Fault(f"the lock file does not have {found[0]}, which pyproject.toml asks for: run `uv lock`")
    release.sbom.write_text(json.dumps(made, indent=2, sort_keys=True) + "\n")
    return f"{len(listed)} components in {release.sbom.name}"


def provenance(release: Release) -> str:
    """A statement in the form of in-toto and SLSA: what was built from what; signed if there is a key."""
    made = (release.wheel, release.sdist, release.sbom)
    statement: dict[str, Any] = {
        "_type": STATEMENT,
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in made],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": release.version},
                "internalParameters": {"SOURCE_DATE_EPOCH": release.epoch},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": release.commit}},
                    *(
                        {"name": name, "digest": {"sha256": digest(release.root / name)}}
                        for name in ("pyproject.toml", "uv.lock")
                    ),
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "scripts/release",
                    "version": {
                        "python": platform.python_version(),
                        "uv": release.run(UV, "--version").split()[1],
                        "system": f"{platform.system()} {platform.machine()}",
                    },
                }
            },
        },
    }
    release.provenance.write_text(json.dumps(statement, indent=2) + "\n")
    if release.key is None:
        return f"{release.provenance.name}, not signed: no key was given"
    release.run("ssh-keygen", "-q", "-Y", "sign", "-f", release.key, "-n", NAMESPACE, release.provenance)
    return f"{release.provenance.name}, signed"
