"""The home as a project: refused unless it is named, and then without keys, configuration and Bridle's own folders."""

import pytest
from support.cli_home import ForkedHome, calls


@pytest.fixture
def home(tmp_path):
    tmp_path = tmp_path / "above" / "home"
    tmp_path.mkdir(parents=True)
    home = ForkedHome(tmp_path, tmp_path)
    home.environment["BRIDLE_SANDBOX__MODE"] = "required"
    for name in (".ssh/id_rsa", ".local/share/bridle/keys.json", ".profile", "work/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name} secret\n")
    return home


@pytest.mark.parametrize("above", [False, True])
def test_it_is_refused_unless_it_is_named(home, above):
    home.project = home.folder.parent if above else home.folder
    script = home.script({"text": "Done."})
    refused = home.run("run", "--model", script, "go")
    assert (refused.returncode, "contains your home" in refused.stderr) == (2, True)
    assert home.run("run", "--model", script, "--dir", ".", "go").returncode == 0


@pytest.mark.parametrize("above", [False, True])
def test_no_tool_reads_or_writes_what_is_hidden_in_it(home, above):
    home.project = home.folder.parent if above else home.folder
    base = home.folder
    reads = [("read", {"filePath": str(base / name)}) for name in (".ssh/id_rsa", ".local/share/bridle/keys.json")]
    writes = [
        ("write", {"filePath": str(base / name), "content": "evil\n"})
        for name in (".ssh/authorized_keys", ".config/systemd/user/x.service", ".config/bridle/config.toml")
    ]
    command = f"cat {base}/.ssh/id_rsa; cat {base}/.local/share/bridle/keys.json; echo evil >> {base}/.profile; "
    command += (
        f"mkdir -p {base}/.config/bridle; echo evil > {base}/.config/bridle/config.toml; cat {base}/work/note.txt"
    )
    script = home.script(
        calls(*reads),
        calls(*writes),
        calls(("bash", {"command": command}), ("grep", {"pattern": "secret", "path": "."})),
        {"text": "Done."},
    )
    _, lines = home.json("--model", script, "--dir", ".", "go")
    outputs = "\n".join(str(line.get("output", "")) for line in lines if line["type"] == "tool_use")
    assert "work/note.txt secret" in outputs
    assert "id_rsa secret" not in outputs and "keys.json secret" not in outputs
    assert (base / ".profile").read_text() == ".profile secret\n"
    assert not (base / ".config" / "systemd").exists() and not (base / ".ssh" / "authorized_keys").exists()
    assert not (base / ".config" / "bridle" / "config.toml").exists()


def test_folders_of_bridle_s_own_in_a_project_are_outside_of_it(home):
    home.project = home.folder / "work"
    home.environment["XDG_DATA_HOME"] = str(home.project / "data")
    keys = home.project / "data" / "bridle" / "keys.json"
    keys.parent.mkdir(parents=True)
    keys.write_text('{"openai": "hunter2"}\n')
    tries = ("read", {"filePath": "data/bridle/keys.json"}), ("grep", {"pattern": "hunter", "path": "."})
    more = ("grep", {"pattern": "hunter", "path": "data/bridle"}), ("list", {"path": "data/bridle"})
    _, lines = home.json("--model", home.script(calls(*tries, *more), {"text": "Done."}), "go")
    outputs = [line["output"] for line in lines if line["type"] == "tool_use" and line.get("output")]
    assert len(outputs) == 4 and "hunter2" not in "".join(outputs)
    assert [line.get("refusal") for line in lines if line["type"] == "tool_use"].count("unasked") == 3
