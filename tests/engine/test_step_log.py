"""The log: a line for each step and each ending, and a warning for each call that was refused."""

import pytest
from support.cli_home import ForkedHome, calls

READ = ("read", {"filePath": "hello.txt"})


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("hello\n")
    return ForkedHome(tmp_path, project)


def logged(home, model, *flags):
    """The lines of the log after a run, without their times and sessions."""
    home.run("run", "--model", model, *flags, "go")
    (log,) = home.folder.rglob("bridle.log")
    return [line.split(" ", 2)[2] for line in log.read_text().splitlines()]


@pytest.mark.slow
def test_a_call_of_an_agent_that_only_talks_is_a_warning(home):
    model = home.script({"text": "Just words.", **calls(READ)})
    assert logged(home, model, "--steps", "0") == [
        "agent=build step 1/0",
        "agent=build warning: call of read not executed: this agent has no tools",
        "agent=build finish reason=answered steps=1",
    ]


@pytest.mark.slow
def test_a_call_in_the_closing_step_is_a_warning(home):
    model = home.script({"text": "Words.", **calls(READ)})
    assert (
        logged(home, model, "--steps", "1")[1] == "agent=build warning: call of read not executed: step limit reached"
    )


@pytest.mark.slow
def test_calls_beyond_a_budget_are_warnings(home):
    model = home.script(calls(READ, ("list", {}), ("glob", {"pattern": "*"})), {"text": "Closed."})
    found = [line for line in logged(home, model, "--max-tool-calls", "1") if "warning" in line]
    assert found == [
        "agent=build warning: call of list not executed: tool budget exhausted",
        "agent=build warning: call of glob not executed: tool budget exhausted",
    ]


@pytest.mark.slow
def test_a_name_that_a_model_made_up_stays_on_its_line(home):
    model = home.script({"text": "Words.", **calls(("a\nb", {}))})
    assert (
        logged(home, model, "--steps", "0")[1]
        == "agent=build warning: call of a b not executed: this agent has no tools"
    )
