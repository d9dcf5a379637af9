"""Instruction files: which are read, where they come from, and that they are instructions and nothing else."""

import pytest
from support.agent_project import home_of_repository, system, write
from support.cli_home import calls


@pytest.fixture
def home(tmp_path):
    return home_of_repository(tmp_path)


def test_instructions_of_the_user_and_of_every_folder_up_to_the_root_are_read(home):
    write(
        home.folder,
        {
            ".config/bridle/AGENTS.md": "The user's own.",
            "AGENTS.md": "Above the root of git.",
            "project/AGENTS.md": "The root's.",
            "project/sub/AGENTS.md": "The folder's.",
            "project/sub/CLAUDE.md": "Not read.",
            "project/sub/deep/AGENTS.md": "Beneath it.",
        },
    )
    home.project = home.project / "sub"
    words = system(home)
    places = [words.index(text) for text in ("The user's own.", "The root's.", "The folder's.")]
    assert places == sorted(places)
    assert not [text for text in ("Not read.", "Above the root", "Beneath it.") if text in words]


def test_claude_md_is_read_where_there_is_no_agents_md(home):
    write(home.project, {"CLAUDE.md": "Claude's words."})
    assert "Claude's words." in system(home)


def test_instructions_that_lead_out_of_the_project_are_not_read(home):
    (home.folder / "secret").write_text("the private key")
    (home.project / "AGENTS.md").symlink_to(home.folder / "secret")
    assert "the private key" not in system(home)


def test_more_instructions_by_pattern_after_trust(home):
    write(home.project, {"bridle.toml": 'instructions = ["docs/*.md"]', "docs/a.md": "From a.", "docs/b.md": "From b."})
    assert "From a." not in system(home)
    words = home.anew("config", "prompt", "--model", "openai/gpt-4.1", "--trust", OPENAI_API_KEY="x").stdout
    assert "From a." in words and "From b." in words


def test_instructions_beside_a_file_come_with_it_once(home):
    write(home.project, {"lib/AGENTS.md": "In lib, tabs.", "lib/a.py": "a\n", "lib/b.py": "b\n", "c.py": "c\n"})
    reads = [calls(("read", {"filePath": name})) for name in ("c.py", "lib/a.py", "lib/b.py")]
    _, lines = home.json("--model", home.script(*reads, {"text": "Done."}), "go")
    shown = ["In lib, tabs." in line["output"] for line in lines if line["type"] == "tool_use" and "output" in line]
    assert shown == [False, True, False]


def test_instructions_are_instructions_and_nothing_else(home):
    write(
        home.project,
        {".env": "KEY=planted-secret", "sub/a.py": "a\n", "other/AGENTS.md": "Secret rules.", "other/b.py": "b\n"},
    )
    (home.project / "AGENTS.md").symlink_to(".env")
    (home.project / "sub" / "AGENTS.md").symlink_to("../.env")
    assert "planted-secret" not in system(home)
    reads = calls(("read", {"filePath": "sub/a.py"}), ("read", {"filePath": "other/b.py"}))
    denied = {"BRIDLE_PERMISSION": '{ read = { "other/AGENTS.md" = "deny" } }'}
    _, lines = home.json("--model", home.script(reads, {"text": "Done."}), "go", **denied)
    said = "".join(line["output"] for line in lines if "output" in line and line["type"] == "tool_use")
    assert "planted-secret" not in said and "Secret rules." not in said
