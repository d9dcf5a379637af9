"""Definitions from users and projects: agents, instructions, commands and settings, by the real command line."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.agent_project import home_of_repository, system, write
from support.cli_home import ForkedHome, calls

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.assembly.prompts import with_mentions
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.inbox import TurnOptions


@pytest.fixture
def home(tmp_path):
    return home_of_repository(tmp_path)


def told(lines):
    return [line["text"] for line in lines if line["type"] == "notice"]


ONE_AGENT = {
    "opencode.json": json.dumps(
        {
            "agent": {"careful": {"prompt": "You are careful.", "steps": 2, "permission": {"bash": "deny"}}},
            "default_agent": "careful",
        }
    ),
    ".opencode/agent/careful.md": "---\nsteps: 2\npermission:\n  bash: deny\n---\nYou are careful.\n",
    ".claude/agents/careful.md": "---\nname: careful\nmaxTurns: 2\ndisallowedTools: Bash\n---\nYou are careful.\n",
    "AGENTS.md": "Be kind.\n\n---\nname: careful\nmaxSteps: 2\npermission:\n  bash: deny\n---\nYou are careful.\n",
}


@pytest.mark.parametrize("name", ONE_AGENT)
def test_a_project_with_only_one_kind_of_file_runs_and_its_caps_and_permissions_hold(home, name):
    write(home.project, {name: ONE_AGENT[name], "hello.txt": "hello\n"})
    again = calls(("read", {"filePath": "hello.txt"}), ("bash", {"command": "touch made"}))
    model = home.script(again, then={"text": "Closed."})
    code, lines = home.json("--model", model, "--trust", "--agent", "careful", "--on-ask", "allow", "go")
    result = lines[-1]
    assert (code, result["reason"], result["steps"], result["text"]) == (3, "step_cap", 2, "Closed.")
    assert not (home.project / "made").exists()
    # Untrusted, there is no such agent, and the warning names it.
    done = home.anew("run", "--model", model, "--agent", "careful", "go")
    assert (done.returncode, "there is no agent 'careful'" in done.stderr) == (2, True)
    assert "defines the agent careful" in done.stderr


def test_a_provider_from_an_opencode_file_is_asked_after_trust(home):
    from support.served_model import serving

    with serving(then="From the provider.") as server:
        options = {"baseURL": f"{server.address}/v1", "apiKey": "{env:OUR_KEY}", "headers": {"X-Stable": "{env:OURS}"}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": options,
            "models": {"m": {"limit": {"context": 9999}}},
        }
        content = {"provider": {"ours": provider}, "model": "ours/m"}
        write(home.project, {"opencode.json": json.dumps(content)})
        untrusted = home.run("run", "go", OUR_KEY="key", OURS="horse", BRIDLE_BEHAVIOR__EMBEDDED="false")
        assert untrusted.returncode == 2
        assert f"sends prompts and your key in OUR_KEY to the provider ours at {server.address}/v1" in untrusted.stderr
        assert server.bodies == []
        done = home.anew("run", "--trust", "go", OUR_KEY="key", OURS="horse")
        assert done.stdout == "From the provider.\n", done.stderr
        assert server.bodies[-1]["model"] == "m"


def test_an_untrusted_project_may_lower_and_not_raise(home):
    write(
        home.project,
        {
            "opencode.json": json.dumps(
                {"agent": {"build": {"steps": 1, "prompt": "Obey me."}}, "permission": "allow"}
            ),
            ".bridle/agents/architect.md": "---\nsteps: 150\n---\nI am taller.\n",
            ".bridle/commands/go.md": "!`touch made`",
            "bridle.toml": "[behavior]\nmax_steps = 190\n[limits]\ntool_calls = 3\n",
        },
    )
    rows = home.anew("agents")
    assert "build  (primary, 1 step, 3 tool calls" in rows.stdout
    assert "architect  (all, 20 steps, 3 tool calls" in rows.stdout
    for words in (
        "may do anything without asking",
        "changes the agent build (steps 1, prompt)",
        "changes the agent architect (prompt, steps 150)",
        "runs `touch made` in the command /go",
    ):
        assert words in rows.stderr
    assert "Obey me." not in system(home)
    model = home.script(calls(("bash", {"command": "touch made"})))
    code, lines = home.json("--model", model, "/go")
    assert (code, "there is no command /go" in lines[-2]["message"]) == (2, True)
    assert home.json("--model", model, "go")[1][-1]["reason"] == "step_cap"
    assert not (home.project / "made").exists()


def test_a_switch_of_agents_is_told_to_the_model(tmp_path):
    model = ScriptedModel(["Planned.", "Built."])

    async def work():
        settings = Settings(sandbox=SandboxSettings(mode="off"))
        async with Runtime(RuntimeConfig(settings=settings, models={"m": model}, directory=tmp_path)) as runtime:
            session = await runtime.create()
            for agent in ("plan", "build"):
                options = TurnOptions(agent=agent, model="m")
                await runtime.wait(session, await runtime.prompt(session, "go", options=options))

    import asyncio

    asyncio.run(work())
    first, second = ([message.text for message in request.messages] for request in model.requests)
    assert first == ["go"]
    assert "[From here on you are the agent build, no longer plan: you may change files now" in second[2]
    assert "You change nothing" in model.requests[0].system and "planner" not in model.requests[1].system


def test_the_planner_and_its_subagents_find_the_project_read_only(home, tmp_path):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        there = ForkedHome(Path(folder), Path(folder) / "project")
        subprocess.run(["git", "init", "-q", there.project], check=True)
        there.environment["BRIDLE_SANDBOX__MODE"] = "required"
        touch = {"command": "touch made; git commit --allow-empty -m x; echo looked"}
        task = {"description": "d", "prompt": "p", "subagent_type": "general"}
        model = there.script(calls(("bash", touch), ("task", task)), {"text": "Done."})
        _, lines = there.json("--model", model, "--agent", "plan", "go")
        outputs = [line["output"] for line in lines if "output" in line and line["type"] == "tool_use"]
        assert "Read-only file system" in outputs[0] and "looked" in outputs[0]
        assert list(there.project.iterdir()) == [there.project / ".git"]
        _, lines = there.json("--model", model, "--agent", "build", "go")
        assert (there.project / "made").exists()


def test_a_mention_asks_for_the_subagent():
    known = ["explore", "review/deep"]
    asked = "[The user wants the subagent {} for this: start it with `task`.]"
    assert with_mentions("@explore where is x?", known) == "@explore where is x?\n\n" + asked.format("explore")
    assert with_mentions("ask @review/deep, @explore", known).endswith(
        asked.format("review/deep") + "\n" + asked.format("explore")
    )
    for text in ("mail me@explore.org", "@nobody go", "see @explore/x", "a@explore"):
        assert with_mentions(text, known) == text


def test_hidden_agents_are_not_listed_and_not_offered(home):
    write(home.folder, {".config/bridle/agents/ghost.md": "---\nhidden: true\ndescription: Boo\n---\nBoo.\n"})
    assert "ghost" not in home.run("agents").stdout
    assert "ghost" in home.anew("agents", "--all").stdout and "title" in home.run("agents", "--all").stdout
    _, lines = home.json("--model", home.script({"text": "hi"}), "--agent", "ghost", "go")
    assert lines[-1]["reason"] == "answered"


def test_agents_are_shown_and_created(home):
    done = home.anew(
        "agents",
        "create",
        "reviewer",
        "--description",
        "Reviews: everything",
        "--steps",
        "4",
        "--prompt",
        "You review.",
    )
    assert done.stdout == "written: .bridle/agents/reviewer.md\n"
    again = home.run("agents", "create", "reviewer", "--description", "x", "--prompt", "y")
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    shown = home.anew("agents", "show", "reviewer", "--trust").stdout
    assert "description: Reviews: everything\nmode: all\n" in shown
    assert "limits: 4 steps, 200 tool calls (50 tool calls as a subagent)\n" in shown and shown.endswith(
        "\nYou review.\n"
    )
    assert home.run("agents", "show", "nobody").returncode == 2
    assert home.run("agents", "create", "../x", "--description", "x", "--prompt", "y").returncode == 2


def limits_of(home, agent, *words):
    found = re.search(rf"^{agent}  \((.*?)\)", home.run("agents", *words).stdout, flags=re.MULTILINE)
    return found[1]


def test_no_untrusted_project_raises_what_is_in_force(home):
    write(
        home.folder,
        {
            ".config/bridle/config.toml": "[behavior]\nmax_steps = 4\n[limits]\ntool_calls = 3\n",
            ".config/bridle/agents/plan.md": "---\nsteps: 6\n---\nPlan.",
            "project/bridle.toml": "[agents.build]\nsteps = 150\nlimits = { tool_calls = 9999 }\n"
            "[agents.plan]\nsteps = 7\n",
        },
    )
    assert limits_of(home, "build") == "primary, 4 steps, 3 tool calls"
    assert limits_of(home, "plan") == "primary, 6 steps, 3 tool calls"
    write(home.folder, {"project/bridle.toml": "[agents.build]\nmaxSteps = 2\nlimits = { tool_calls = 1 }\n"})
    assert limits_of(home, "build") == "primary, 2 steps, 1 tool call"


def test_no_layer_takes_a_deny_away(home):
    write(
        home.folder,
        {
            ".config/bridle/config.toml": '[[agents.build.permission]]\npermission = "bash"\nverdict = "deny"\n'
            '[permission]\nwebfetch = "deny"\n',
            ".config/opencode/opencode.json": json.dumps(
                {"permissions": [{"action": "shell", "resource": "rm *", "effect": "deny"}]}
            ),
            "project/bridle.toml": '[agents.build.permission]\nwebfetch = "deny"\nedit = { "*" = "deny" }\n',
        },
    )
    shown = home.run("agents", "show", "build").stdout
    for rule in ("deny bash *", "deny webfetch *", "deny edit *"):
        assert rule in shown
    listed = home.run("config").stdout
    assert '"rm *"' in listed and '"webfetch"' in listed


def test_an_agents_md_that_gains_an_agent_is_not_trusted_any_more(home):
    write(home.project, {"bridle.toml": "[behavior]\nmax_steps = 9\n", "AGENTS.md": "Be kind.\n"})
    assert home.anew("trust").returncode == 0
    write(home.project, {"AGENTS.md": "Be very kind.\n"})
    assert "trusted, as it is now" in home.anew("doctor").stdout
    write(home.project, {"AGENTS.md": "Kind.\n---\nname: build\npermission: {'*': allow}\n---\nx\n"})
    assert "it has changed since" in home.run("doctor").stdout
    grab = calls(("write", {"filePath": "AGENTS.md", "content": "x"}))
    _, lines = home.json("--model", home.script(grab, {"text": "Done."}), "go")
    assert "needs a person's permission" in next(
        line["output"] for line in lines if "output" in line and line["type"] == "tool_use"
    )


def test_claude_patterns_hold_and_a_list_of_tools_holds_below(home):
    write(
        home.project,
        {
            ".claude/agents/scribe.md": "---\nname: scribe\ntools: Read, Write(docs/**), Task\n---\nx",
            "a.txt": "a",
        },
    )
    (home.project / "docs").mkdir()
    task = {"description": "d", "prompt": "p", "subagent_type": "general"}
    model = home.script(
        calls(
            ("write", {"filePath": "src.py", "content": "x"}),
            ("write", {"filePath": "docs/a.md", "content": "x"}),
            ("task", task),
        ),
        calls(("bash", {"command": "touch made"})),
        {"text": "Done."},
    )
    home.json("--model", model, "--trust", "--agent", "scribe", "--on-ask", "allow", "go")
    assert sorted(path.name for path in home.project.iterdir()) == [".claude", ".git", "a.txt", "docs"]
    assert (home.project / "docs" / "a.md").exists()


def test_max_steps_of_a_file_is_the_cap_of_a_run(home):
    looks = [calls(("glob", {"pattern": f"{number}*"})) for number in range(60)]
    model = home.script(*looks, then={"text": "Closed."})
    write(
        home.folder,
        {".config/bridle/config.toml": "[behavior]\nmax_steps = 50  # For complex multi-file refactoring\n"},
    )
    assert (home.json("--model", model, "go")[1][-1]["steps"], cap_of(home)) == (50, "50")
    # A project's file lowers it, the environment stands over both, and a flag over all.
    write(home.project, {"bridle.toml": "[behavior]\nmax_steps = 10\n"})
    assert home.json("--model", model, "go")[1][-1]["steps"] == 10
    assert home.json("--model", model, "go", BRIDLE_BEHAVIOR__MAX_STEPS="7")[1][-1]["steps"] == 7
    assert home.json("--model", model, "--steps", "3", "go")[1][-1]["steps"] == 3


def cap_of(home):
    return re.search(r"^build  \(primary, (\d+) steps", home.run("agents").stdout, flags=re.MULTILINE)[1]


def test_the_list_of_agents_tells_the_limits_that_hold(home):
    rows = home.run("agents").stdout
    for row in (
        "build  (primary, 200 steps, 200 tool calls)",
        "general  (subagent, 200 steps, 50 tool calls)",
        "explore  (subagent, 200 steps, 50 tool calls)",
        "refactorer  (all, 5 steps, 200 tool calls (50 tool calls as a subagent))",
    ):
        assert row in rows
    write(
        home.folder,
        {".config/bridle/config.toml": "[limits]\nsubagent_tool_calls = 7\n[agents.explore]\nlimits.tool_calls = 3\n"},
    )
    rows = home.run("agents").stdout
    assert "general  (subagent, 200 steps, 7 tool calls)" in rows
    assert "explore  (subagent, 200 steps, 3 tool calls)" in rows
