"""Files that others name: bounded, regular, and those above the project only from folders of one's own."""

import os

import pytest
from support.cli_home import ForkedHome

from bridle.config.instructions import Instructions
from bridle.config.load import load
from bridle.config.trust import MOST_BYTES, fingerprint, project_folders
from bridle.errors import ConfigError
from bridle.runtime.transfer import read_bundle
from bridle.workspace.bounded_read import SETTINGS_BYTES, read_bounded


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return ForkedHome(tmp_path / "home", tmp_path / "home" / "project")


def sparse(path, size):
    """A file that takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize("place", ["/dev/zero", "pipe", "folder"])
def test_a_file_that_a_person_names_is_a_regular_one(home, place):
    os.mkfifo(home.project / "pipe")
    (home.project / "folder").mkdir()
    model = home.script({"text": "Hi."})
    for command in (
        ("import", place),
        ("run", "--model", model, "--schema", place, "hi"),
        ("run", "--model", f"scripted:{place}", "hi"),
        ("run", "--model", model, "--file", place, "hi"),
    ):
        done = home.run(*command)
        assert (done.returncode, place in done.stderr) == (2, True), (command, done.stderr)


def test_a_file_that_is_too_large_is_refused_by_name_and_bound(home):
    large = sparse(home.project / "large.json", 3 << 30)
    model = home.script({"text": "Hi."})
    for command in (
        ("import", "large.json"),
        ("run", "--model", model, "--schema", "large.json", "hi"),
        ("run", "--model", "scripted:large.json", "hi"),
    ):
        done = home.run(*command)
        assert (done.returncode, "large.json" in done.stderr, "it is larger than" in done.stderr) == (2, True, True)
    with pytest.raises(ConfigError, match="larger than"):
        read_bundle(large)


def test_a_session_is_imported_from_standard_input(home):
    done = home.run("run", "--model", home.script({"text": "Hi."}), "--format", "json", "hi")
    session = done.stdout.partition('"session":"')[2].partition('"')[0]
    exported = home.run("export", session).stdout
    for name in ("-", "/dev/stdin"):
        assert home.run("import", name, given=exported).stdout == f"{session}\n"


@pytest.mark.parametrize("name", ["bridle.toml", "opencode.json", ".mcp.json", ".bridle/agents/a.md"])
def test_a_settings_file_has_a_bound(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sparse(path, 2 << 30)
    environment = {"HOME": str(tmp_path / "none")}
    try:
        told = "\n".join(load(tmp_path, environment=environment).notices)
    except ConfigError as error:
        told = str(error)
    assert name in told and "larger than" in told


def test_the_fingerprint_of_a_project_reads_no_more_than_its_bound(tmp_path):
    (tmp_path / ".bridle").mkdir()
    sparse(tmp_path / "elsewhere", 4 << 30)
    (tmp_path / ".bridle" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=f"larger than {MOST_BYTES:,}"):
        fingerprint(tmp_path)
    (tmp_path / ".bridle" / "link").unlink()
    (tmp_path / ".bridle" / "small").write_text("x")
    assert fingerprint(tmp_path)


def test_a_file_with_too_many_agents_defines_none_and_says_so(tmp_path):
    heads = "".join(f"---\nname: a{number}\ndescription: d\n---\nwords\n" for number in range(30_000))
    (tmp_path / "AGENTS.md").write_text(heads[: SETTINGS_BYTES // 2])
    loaded = load(tmp_path, environment={"HOME": str(tmp_path / "none")})
    assert [notice for notice in loaded.notices if "more than 100 agents" in notice]
    assert "a0" not in loaded.settings.agents
    assert Instructions(tmp_path, ()).text().startswith("Instructions from")
    assert fingerprint(tmp_path)


def test_what_is_read_is_all_or_an_error(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        read_bounded(path, 4)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_bounded(tmp_path / ".", 4)


def shared(folder):
    """As /tmp is: anybody may put something there."""
    folder.chmod(0o1777)


def foreign(folder):
    os.chown(folder, 12_345, 12_345)


FOLDERS = [shared, *([foreign] if os.getuid() == 0 else [])]


@pytest.mark.parametrize("made", FOLDERS)
@pytest.mark.parametrize("git", [False, True])
def test_settings_above_the_project_count_only_in_folders_of_ones_own(made, git, tmp_path):
    above, mine = tmp_path / "above", tmp_path / "above" / "mine"
    project = mine / "project"
    project.mkdir(parents=True)
    (above / "bridle.toml").write_text("behavior.max_steps = 3\n")
    if git:
        (above / ".git").mkdir()
    environment = {"HOME": str(tmp_path / "none")}
    assert above in project_folders(project)
    assert load(project, environment=environment).settings.behavior.max_steps == 3
    made(above)
    assert above not in project_folders(project)
    assert {project, mine} <= set(project_folders(project))
    assert load(project, environment=environment).settings.behavior.max_steps != 3
    # Whoever works in such a folder has chosen it.
    assert above in project_folders(above)


def test_a_prompt_from_standard_input_has_a_bound(home):
    done = home.run("run", "--model", home.script({"text": "Hi."}), given="x" * 30_000_000)
    assert (done.returncode, "standard input" in done.stderr, "larger than" in done.stderr) == (2, True, True)


def test_nothing_is_awaited_of_a_pipe_in_the_place_of_a_settings_file(tmp_path):
    os.mkfifo(tmp_path / "bridle.toml")
    assert load(tmp_path, environment={"HOME": str(tmp_path / "none")}).settings.behavior.max_steps != 3
