"""How a person names a session at the command line: by an id, by its beginning, or not at all."""

import json

import pytest
from support.cli_home import ForkedHome, calls

MAKE = calls(("bash", {"command": "touch made"}))
ASK = "1.1.1.0.0.bash"


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return ForkedHome(tmp_path, project)


def paused(home, *replies):
    """A session of this directory that waits for its person."""
    code, lines = home.json("--model", home.script(*replies), "--on-ask", "pause", "go")
    assert (code, lines[-1]["reason"]) == (5, "paused")
    return lines[0]["session"]


def denied(home, done):
    """Whether a person's rejection ended the last turn, as its record says."""
    return (done.returncode, "denied: 1 step" in done.stderr, (home.project / "made").exists()) == (4, True, False)


@pytest.mark.parametrize("choice", ["once", "o", "y", "YES"])
def test_an_answer_without_names_is_for_the_only_request_of_the_last_session(home, choice):
    paused(home, MAKE, {"text": "Made."})
    done = home.run("answer", choice)
    assert (done.returncode, done.stdout) == (0, "Made.\n"), done.stderr
    assert (home.project / "made").exists()


@pytest.mark.parametrize("choice", ["reject", "r", "n", "No"])
def test_no_rejects(home, choice):
    paused(home, MAKE, {"text": "Made."})
    assert denied(home, home.run("answer", choice))


def test_of_session_and_request_either_may_be_left_out_and_an_id_cut_short(home):
    session = paused(home, MAKE, MAKE, MAKE, {"text": "Three."})
    beginning, loop = session[:22], "1.3.1.0.0.doom_loop"
    for words, status in (([ASK], 5), ([beginning], 5), ([beginning, loop], 5), ([], 0)):
        done = home.run("answer", *words, "y")
        assert done.returncode == status, done.stderr
    assert done.stdout == "Three.\n"


def test_a_question_takes_any_words_of_which_none_are_a_session(home):
    paused(home, calls(("question", {"questions": [{"question": "Which?", "options": []}]})), {"text": "Chosen."})
    done = home.run("answer", "no")
    assert (done.returncode, done.stdout) == (0, "Chosen.\n"), done.stderr
    assert "no" in home.run("show").stdout


def test_an_answer_that_could_mean_several_requests_or_none_says_which_there_are(home):
    session = paused(home, calls(("bash", {"command": "touch a"}), ("bash", {"command": "touch b"})), {"text": "Both."})
    several = home.run("answer", "y")
    assert several.returncode == 2
    assert f"session {session} asks 2 things; name one: {ASK}, 1.1.1.0.1.bash" in several.stderr
    assert home.run("answer", ASK, "n").returncode == 4
    none = home.run("answer", "y")
    assert (none.returncode, f"session {session} asks nothing" in none.stderr) == (2, True)
    unknown = home.run("answer", "a", "b", "y")
    assert (unknown.returncode, "there is no session a" in unknown.stderr) == (2, True), unknown.stderr
    wrong = home.run("answer")
    assert (wrong.returncode, "bridle answer [SESSION] [ASK] CHOICE" in wrong.stderr) == (2, True)


def test_a_new_title_alone_is_for_the_last_session(home):
    first, second = (home.json("--model", home.script({"text": "Done."}), "go")[1][0]["session"] for _ in range(2))
    assert home.run("sessions", "rename", "The second one").returncode == 0
    assert home.run("sessions", "rename", first[: len(first) - 1], "The first one").returncode == 0
    titles = {line.split()[0]: line for line in home.run("sessions").stdout.splitlines()}
    assert titles[first].endswith("The first one") and titles[second].endswith("The second one")
    for wrong in (["The", "failing", "test"], [first, ""], [""], []):
        assert home.run("sessions", "rename", *wrong).returncode == 2


def test_a_notice_about_the_files_of_a_project_is_shown_once_for_each_change(home):
    settings = home.project / "opencode.json"
    for model, command in (("mock/one", ["agents"]), ("mock/two", ["mcp", "list"]), ("mock/three", ["models"])):
        settings.write_text(json.dumps({"model": model}))
        assert f"no effect: asks the model {model}" in home.run(*command).stderr
        assert [other for other in ("agents", "sessions", "stats") if home.run(other).stderr] == []
