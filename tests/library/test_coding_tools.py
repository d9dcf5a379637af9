"""The built-in tools as tools of an agent: what they reach, what they leave behind, and which agent has them."""

import asyncio
import os
import subprocess

import pytest
from support.paths import ROOT

from bridle import Agent, ConfigError, Rule, ScriptedModel, Settings, call, coding_tools
from bridle.config.settings import SandboxSettings

ALL = ["read", "write", "edit", "bash", "process", "glob", "grep", "list", "todowrite", "todoread", "webfetch"]
GPT = "openai/gpt-5.5"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A repository beside the home of its user, who has used Bridle."""
    home, repo = tmp_path / "home", tmp_path / "repo"
    (home / ".local" / "share" / "bridle").mkdir(parents=True)
    (home / ".local" / "share" / "bridle" / "journal.db").write_text("every session")
    repo.mkdir()
    subprocess.run(["git", "init", "-q", repo], check=True)
    (repo / "app.py").write_text("print('one')\n")
    (repo / ".env").write_text("KEY=hunter2\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{ROOT}/.uv/bin:{os.environ['PATH']}")
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return repo


def run(place, *replies, tools=None, **more):
    """Run an agent of a program in the place; return its result, the results of its calls and its model."""
    model = ScriptedModel([*replies, "done"], ref=more.pop("ref", "scripted/model"))
    agent = Agent("dev", model=model, tools=coding_tools() if tools is None else tools, directory=place, **more)
    result = agent.run_sync("go")
    return result, [message.text for message in result.messages if hasattr(message, "call")], model


def everything(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".git/" not in str(path)}


def offered(model):
    return [spec.name for spec in model.requests[0].tools]


def double(number: int) -> int:
    """Double a number."""
    return number * 2


def test_an_agent_works_on_a_directory_with_built_in_tools_beside_its_own(place):
    before = everything(place.parent)
    result, outputs, model = run(
        place,
        [call("read", filePath="app.py"), call("double", number=4)],
        call("edit", filePath="app.py", oldString="one", newString="two"),
        call("write", filePath="new/notes.txt", content="hello"),
        [call("bash", command="cat app.py; echo made > made.txt"), call("grep", pattern="hello")],
        tools=[*coding_tools(), double],
    )
    assert (offered(model), result.reason) == ([*ALL, "double"], "answered")
    assert (outputs[0].strip(), outputs[1]) == ("1\tprint('one')", "8")
    assert ("print('two')" in outputs[4], "new/notes.txt" in outputs[5]) == (True, True)
    assert result.files == ("app.py", "new/notes.txt")
    # Nothing is left outside the directory: no journal, no snapshots, no caches.
    made = {"repo/made.txt", "repo/new", "repo/new/notes.txt"}
    assert everything(place.parent) - before == made


def test_what_a_person_would_be_asked_is_denied_and_bridles_folders_are_closed(place):
    data = place.parent / "home" / ".local" / "share" / "bridle"
    _, outputs, _ = run(
        place,
        [
            call("read", filePath="/etc/passwd"),
            call("read", filePath=".env"),
            call("write", filePath=str(data / "grants.json"), content="mine"),
            call("bash", command="cat .env; cat ~/.local/share/bridle/journal.db"),
            call("webfetch", url="http://127.0.0.1:9/", format="text"),
            call("write", filePath=".git/config", content="[core]"),
        ],
        permission=[Rule("external_directory", "*", "allow")],
    )
    asked = [text.partition(" needs a person's permission, and no person can be asked")[1] != "" for text in outputs]
    assert (asked[1], asked[4]) == (True, True)
    assert not any("hunter2" in text or "every session" in text for text in outputs)
    assert ("is protected" in outputs[2], [path.name for path in data.iterdir()]) == (True, ["journal.db"])
    assert (place / ".git" / "config").read_text() != "[core]"
    closed = run(place, call("read", filePath="/etc/passwd"))[1]
    assert closed == ["not executed: external_directory needs a person's permission, and no person can be asked"]


def test_a_person_may_be_asked_and_rules_decide_before(place):
    asking = [call("read", filePath=".env")]
    paused, _, _ = run(place, asking, on_ask="pause")
    assert (paused.reason, [ask.accesses[0].pattern for ask in paused.asks]) == ("paused", [".env"])
    rules = [Rule("read", ".env", "allow"), Rule("edit", "*", "deny")]
    _, outputs, model = run(place, asking, permission=rules)
    assert ("KEY=hunter2" in outputs[0], {"edit", "write"} & set(offered(model))) == (True, set())
    assert "question" in offered(run(place, on_ask="pause")[2])


def test_a_file_is_read_before_it_is_changed(place):
    _, outputs, _ = run(place, call("write", filePath="app.py", content="x"))
    assert ("read" in outputs[0], (place / "app.py").read_text()) == (True, "print('one')\n")


def test_groups_of_tools_are_left_out(place):
    reading = coding_tools(edits=False, commands=False, todos=False, questions=False, web=False)
    assert [tool.spec.name for tool in reading] == ["read", "glob", "grep", "list"]
    assert offered(run(place, tools=reading)[2]) == ["read", "glob", "grep", "list"]


def test_a_model_gets_the_editors_that_it_uses_and_a_subagent_with_another_model_its_own(place):
    assert "apply_patch" not in offered(run(place)[2])
    hands = ScriptedModel([call("write", filePath="made.txt", content="made"), "made"])
    talker = ScriptedModel([call("write", filePath="not.txt", content="x"), "talked"])
    below = [
        Agent("hands", model=hands, tools=coding_tools(), directory=place),
        Agent("talker", model=talker),
    ]
    starts = [call("task", description="x", prompt="x", subagent_type=agent.name) for agent in below]
    _, _, model = run(place, starts, ref=GPT, subagents=below)
    assert set(offered(model)) == {*ALL, "apply_patch", "task"} - {"write", "edit"}
    assert (set(offered(hands)), offered(talker)) == (set(ALL), [])
    assert (everything(place) & {"made.txt", "not.txt"}) == {"made.txt"}


def test_an_agent_keeps_a_tool_of_its_own_that_has_the_name_of_a_built_in_one(place):
    def grep(pattern: str) -> str:
        """Search the shop."""
        return f"no {pattern} in the shop"

    clerk = ScriptedModel([call("grep", pattern="tea"), "clerk"], ref=GPT)
    start = call("task", description="x", prompt="x", subagent_type="clerk")
    run(place, [call("grep", pattern="one"), start], subagents=[Agent("clerk", model=clerk, tools=[grep])])
    assert (offered(clerk), clerk.requests[1].messages[-1].text) == (["grep"], "no tea in the shop")


def test_the_system_prompt_tells_of_the_machine_what_the_tools_need(place):
    def told(**more):
        return run(place, **more)[2].requests[0].system

    off = Settings(sandbox=SandboxSettings(mode="off"))
    assert told(settings=off).splitlines()[:2] == [f"Directory: {place}", "Platform: Linux"]
    assert told(settings=off, describe_machine=False) == ""
    only_date = told(tools=[double], instructions="You count.").splitlines()
    assert (len(only_date), only_date[0], only_date[2].partition(": ")[0]) == (3, "You count.", "Date")
    assert told(tools=coding_tools(edits=False, commands=False), describe_machine=None).startswith("Directory")
    assert told(tools=[double], describe_machine=True).startswith(f"Directory: {place}")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"directory": "nowhere"}, "agent dev: directory: nowhere is not a directory"),
        ({"directory": None}, "agent dev: directory: .* contains your home directory: name the directory to work in"),
        ({"journal": "repo/s.db"}, "agent dev: journal: repo/s.db is inside .*repo, where its tools work: move it"),
        (
            {"permission": [Rule("write", "docs/*", "allow")]},
            r"'write' is a tool, not a permission: write Rule\('edit', 'docs/\*', 'allow'\)",
        ),
    ],
    ids=["directory", "home", "journal", "rule"],
)
def test_a_place_or_a_rule_that_cannot_be_meant_is_an_error(given, problem, place, monkeypatch):
    monkeypatch.chdir(place.parent)
    with pytest.raises(ConfigError, match=problem):
        Agent("dev", **{"model": "m/m", "tools": coding_tools(), "directory": place, **given})


def test_background_commands_and_known_files_last_as_long_as_the_agent_is_held(place):
    model = ScriptedModel([call("bash", command="sleep 600", background=True), "started", "still there"])
    agent = Agent("dev", model=model, tools=coding_tools(), directory=place)

    async def work():
        async with agent:
            first = await agent.run("go")
            (runtime,) = (each.runtime for each in agent._runtimes._open.values())
            before = [each.status for each in runtime.commands.backgrounds.of(first.session).values()]
            await agent.run("and?", session=first.session)
            return before

    assert asyncio.run(work()) == [None]
