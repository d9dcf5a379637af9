"""What the documents show is run, and what they say of files is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from bridle.config.load import load
from bridle.testing.scripted import Scenario, read_scenario

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


EXAMPLES = [(page, code) for page in PAGES for code in blocks(page, "python")]


@pytest.mark.parametrize(("page", "code"), EXAMPLES, ids=[f"{page.stem} {n}" for n, (page, _) in enumerate(EXAMPLES)])
def test_every_python_example_runs(page, code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    if done.stdout:
        assert done.stdout in blocks(page, "text")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_program_runs_and_prints_what_the_documents_show(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("answered", "synthesized"))
    shown = [block for page in PAGES for block in blocks(page, "text")]
    assert path.stem != "synthesis" or done.stdout in shown


def test_every_settings_example_is_valid(tmp_path):
    (code,) = blocks(ROOT / "docs" / "settings.md", "toml")
    assert tomllib.loads(code)
    (tmp_path / "bridle.toml").write_text(code)
    loaded = load(tmp_path, environment={"XDG_CONFIG_HOME": str(tmp_path / "none")}, trusted=True)
    assert (loaded.settings.agents["reviewer"].steps, loaded.notices) == (8, ())


def test_every_scenario_is_valid(tmp_path):
    (code,) = blocks(ROOT / "docs" / "testing.md", "yaml")
    (tmp_path / "scenario.yaml").write_text(code)
    assert isinstance(read_scenario(tmp_path / "scenario.yaml"), Scenario)
    for path in (ROOT / "examples").glob("*.yaml"):
        assert yaml.safe_load(path.read_text())
        assert read_scenario(path).replies


def test_links_and_tests_that_the_documents_name_are_there():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "AGENTS.md", ROOT / "GLOSSARY.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    named = re.findall(r"`(?:tests/)?((?:\w+/)?(?:test_\w+|oracle)\.py)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert named
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


def test_the_demo_runs_a_turn_in_this_repository(tmp_path):
    bridle = Path(sys.executable).parent / "bridle"
    command = [bridle, "run", "--model", "scripted:examples/tour.yaml", "What is in this repository?"]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, input="")
    assert done.returncode == 0, done.stderr
    assert "This is Bridle, an agent runtime in Python" in done.stdout
    assert "answered: 3 steps, 4 calls" in done.stderr
