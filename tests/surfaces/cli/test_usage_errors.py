"""Wrong usage: exit status 2 in every command, and in JSON a `result` as the last line."""

import json

import pytest
from support.cli_home import ForkedHome, breach_of


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "no.json").write_text("no schema")
    return ForkedHome(tmp_path, project)


WRONG = [
    ["run", "--steps", "x", "go"],
    ["run", "--dir", "/no/such/folder", "go"],
    ["run", "--tool", "bash", "go"],
    ["run", "--on-ask", "maybe", "go"],
    ["run", "--schema", "missing.json", "go"],
    ["run", "--schema", "no.json", "go"],
    ["run"],
    ["run", "--no-such-flag", "go"],
    ["run", "go", "--steps"],
    ["run", "--session", "ses_none", "go"],
    ["run", "--session", "ses_none", "--continue", "go"],
    ["run", "--log-level", "loud", "go"],
    ["resume", "ses_none"],
    ["resume"],
    ["resume", "--no-such-flag"],
    ["answer", "ses_none", "1.1", "once"],
    ["answer", "ses_none"],
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
@pytest.mark.parametrize("spelling", [["--format", "json"], ["--format=json"]], ids=["apart", "joined"])
def test_wrong_usage_ends_with_a_result_and_exits_with_2(home, words, spelling):
    done = home.run(words[0], *spelling, *words[1:])
    assert done.returncode == 2, done.stderr
    lines = done.stdout.splitlines()
    assert [breach for line in lines if (breach := breach_of(line))] == []
    told = [json.loads(line) for line in lines]
    assert [line["type"] for line in told] == ["error", "result"]
    assert (told[1]["reason"], told[1]["session"]) == ("error", "")
    assert told[1]["detail"] == told[0]["message"] != ""


def test_without_json_nothing_is_printed_on_standard_output(home):
    for words in WRONG:
        done = home.run(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr


UNKNOWN = [
    "show ses_none",
    "abort ses_none",
    "compact ses_none",
    "extend ses_none --steps +5",
    "fork ses_none",
    "undo ses_none",
    "redo ses_none",
    "diff ses_none",
    "export ses_none",
    "replay ses_none",
    "report ses_none",
    "resume ses_none",
    "answer ses_none 1.1 once",
    "sessions rename ses_none new",
    "sessions delete ses_none",
    "stats ses_none",
]


@pytest.mark.parametrize("words", UNKNOWN)
def test_an_unknown_session_exits_with_2_in_every_command(home, words):
    done = home.run(*words.split())
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "ses_none" in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_ask_exits_with_2(home):
    model = home.script({"text": "Done."})
    session = home.json("--model", model, "go")[1][0]["session"]
    done = home.run("answer", session, "1.1.no", "once")
    assert (done.returncode, "does not ask '1.1.no'" in done.stderr) == (2, True)


def test_a_file_that_cannot_be_used_is_named_and_not_taken_for_the_output(home):
    name = "/" + "x" * 300
    done = home.run("run", "--format", "json", "go", XDG_CONFIG_HOME=name)
    assert done.returncode == 1
    assert done.stderr.startswith(f"bridle: {name}/bridle") and "output" not in done.stderr
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["error", "result"]


@pytest.mark.parametrize("group", ["config --trust prompt", "agents --all show", "permissions --dir . revoke"])
def test_an_option_that_has_no_effect_before_a_command_is_refused(home, group):
    name, option, *_, command = group.split()
    done = home.run(*group.split(), "all")
    behind = f"write it behind the command, as in `bridle {name} {command} {option}`"
    assert (done.returncode, behind in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["mend the test"], "bridle run, or bridle --prompt"),
        (["-p", "mend the test"], 'bridle run "PROMPT"'),
        (["--resume"], "bridle -c, or bridle -s ID"),
    ],
    ids=["words", "print", "resume"],
)
def test_what_other_agents_call_it_is_named_as_it_is_called_here(home, words, way):
    done = home.run(*words)
    assert (done.returncode, done.stdout, way in done.stderr) == (2, "", True), done.stderr
