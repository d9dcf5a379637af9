"""The wheel, installed as people do it: it works in any directory, and goes away again."""

import json
import os
import subprocess
import zipfile

import pytest
from support.paths import ROOT

from bridle import __version__

UV = ROOT / ".uv" / "bin" / "uv"
ENVIRONMENT = {**os.environ, "UV_SYSTEM_CERTS": "1"}
"""With the certificates of the system it also works behind a proxy that has its own."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [UV, "build", "--wheel", "--out-dir", folder, ROOT], env=ENVIRONMENT, check=True, capture_output=True
    )
    (found,) = folder.glob("*.whl")
    return found


def installed_by_uv(wheel, folder):
    environment = {**ENVIRONMENT, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    subprocess.run([UV, "tool", "install", wheel], env=environment, check=True, capture_output=True)
    return environment, [UV, "tool", "uninstall", "bridle"]


def installed_by_pipx(wheel, folder):
    environment = {**ENVIRONMENT, "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    pipx = [UV, "tool", "run", "pipx"]
    subprocess.run([*pipx, "install", wheel], env=environment, check=True, capture_output=True)
    return environment, [*pipx, "uninstall", "bridle"]


@pytest.mark.parametrize("install", [installed_by_uv, installed_by_pipx])
def test_an_installed_bridle_works_in_an_empty_directory_and_is_uninstalled(wheel, tmp_path, install):
    environment, uninstall = install(wheel, tmp_path)
    program = tmp_path / "bin" / "bridle"
    empty = tmp_path / "empty"
    empty.mkdir()
    script = tmp_path / "script.json"
    calls = [{"name": "write", "arguments": {"filePath": "x.txt", "content": "x"}}]
    script.write_text(json.dumps({"replies": [{"calls": calls}, "Done."]}))
    theirs = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}

    def bridle(*words):
        done = subprocess.run([program, *words], cwd=empty, env=theirs, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert bridle("--version") == f"bridle {__version__}\n"
    told = bridle("doctor")
    assert f"✓ bridle {__version__} in {tmp_path}" in told and f"(wheel {wheel}, by " in told
    assert "✓ without embedded, postgres, providers, telemetry: pip install 'bridle[embedded," in told
    assert bridle("run", "--model", f"scripted:{script}", "--on-ask", "allow", "go") == "Done.\n"
    assert (empty / "x.txt").read_text() == "x"
    # Everything that is no Python came along too: queries, prompts, the page of a report, the looks of the terminal.
    bridle("report", "-o", "report.html")
    assert "<svg" in (empty / "report.html").read_text()
    bridle("undo")
    assert not (empty / "x.txt").exists()
    subprocess.run(uninstall, env=environment, check=True, capture_output=True)
    assert not program.exists()


def test_the_wheel_has_what_the_terminal_needs(wheel):
    with zipfile.ZipFile(wheel) as opened:
        listed = opened.namelist()
    needed = ("surfaces/tui/bridle.tcss", "surfaces/report/report.css", "journal/queries.sql", "config/starter.toml")
    assert {f"bridle/{name}" for name in needed} <= set(listed)
    assert not any(name.startswith("tests/") for name in listed)
    assert any(name.endswith(".data/data/share/man/man1/bridle.1") for name in listed)


@pytest.fixture
def small_system(tmp_path):
    """Runs `scripts/packages` for whoever it says, where nothing but the shell is installed; says what that printed."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def run(user, *pairs):
        for name, does in (
            ("id", f"echo {user}"),
            ("apt-get", 'echo "apt-get $*" >&2'),
            ("tmux", ""),
            ("uname", "echo Linux"),
        ):
            (folder / name).write_text(f"#!/bin/sh\n{does}\n")
            (folder / name).chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", ROOT / "scripts/packages", *pairs], env={"PATH": str(folder)}, capture_output=True, text=True
        )
        return done.returncode, done.stderr.splitlines()

    return run


PAIRS = ("tmux:tmux", "bwrap:bubblewrap", "libmissing.so.1:libmissing1")


def test_root_gets_the_packages_that_are_missing(small_system):
    assert small_system(0, *PAIRS) == (
        0,
        ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends bubblewrap libmissing1"],
    )


def test_without_root_the_missing_packages_are_listed(small_system):
    listed = "these Debian packages are missing; install them as root: bubblewrap libmissing1"
    assert small_system(1000, *PAIRS) == (1, [listed])


def test_where_nothing_is_missing_nothing_is_installed(small_system):
    assert small_system(1000, "tmux:tmux") == (0, [])
