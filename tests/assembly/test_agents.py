"""Who runs, and what users bring for it: agents, instructions, commands and settings, by the real command line."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.cli_home import ForkedHome, calls
from support.paths import ROOT

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.assembly.prompts import with_mentions
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.inbox import TurnOptions


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return ForkedHome(tmp_path, project)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def system(home, *words, **environment):
    done = home.run("config", "prompt", "--model", "openai/gpt-4.1", *words, OPENAI_API_KEY="x", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    shown = home.anew("agents", "show", "reviewer", "--trust").stdout
    assert "description: Reviews: everything\nmode: all\n" in shown
    assert "limits: 4 steps, 200 tool calls (50 tool calls as a subagent)\n" in shown and shown.endswith(
        "\nYou review.\n"
    )
    assert home.run("agents", "show", "nobody").returncode == 2
    assert home.run("agents", "create", "../x", "--description", "x", "--prompt", "y").returncode == 2


COMMANDS = {
    ".bridle/commands/greet.md": "---\nagent: plan\n---\nGreet $1 and then $2, in all: $ARGUMENTS.",
    ".opencode/command/look.md": "Look at @hello.txt and !`cat hello.txt`.",
    ".claude/commands/fix/issue.md": "Fix the issue.",
    "opencode.json": json.dumps({"command": {"log": {"template": "Log: !`echo $ARGUMENTS`"}}}),
    "hello.txt": "hello\n",
}


def prompted(home, *words, **environment):
    """The words that a model reads, and the agent."""
    model = home.script({"text": "Done."})
    code, lines = home.json("--model", model, "--trust", *words, **environment)
    session = lines[-1]["session"]
    shown = home.run("show", session).stdout
    return code, shown


def test_commands_are_templates_with_a_name(home):
    write(home.project, COMMANDS)
    assert "Greet Ann and then Bob Carl, in all: Ann Bob Carl." in prompted(home, "/greet", "Ann", "Bob", "Carl")[1]
    assert "Fix the issue.\n\n#12" in prompted(home, "/fix/issue #12")[1]
    code, shown = prompted(home, "/look", BRIDLE_PERMISSION__BASH='"allow"')
    assert code == 0 and "Look at @hello.txt and hello." in shown


def test_an_unknown_command_is_refused_with_a_suggestion_and_a_path_is_a_prompt(home):
    write(home.project, COMMANDS)
    model = home.script({"text": "Done."})
    for typed, words in (("/gret Ann", "did you mean /greet?"), ("/help", "(known: /fix/issue, /greet, /log, /look)")):
        done = home.run("run", "--model", model, "--trust", typed)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"there is no command {typed.split()[0]}; {words}" in done.stderr
    for typed in ("/etc/hosts is broken", "/tmp is full", "/no/such/file", "/* a comment */"):
        assert f"> {typed}" in prompted(home, typed)[1]


def sent_files(home, *words, given="", **environment):
    """The files that go with a prompt, by name."""
    model = home.script({"text": "Done."})
    code, lines = home.json("--model", model, "--trust", *words, given=given, **environment)
    assert code == 0, lines
    exported = json.loads(home.run("export", lines[-1]["session"]).stdout)
    return {file["path"]: file.get("text", file.get("media")) for file in files_in(exported)}


def files_in(value):
    """Every attached file of an exported session."""
    if isinstance(value, dict):
        if value.get("kind") == "prompt":
            yield from value.get("files", ())
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from files_in(each)


def test_files_that_a_prompt_or_a_template_names_are_attached(home):
    write(
        home.project,
        {
            ".bridle/commands/review.md": "Review the branch $1.\nThe rules are in @RULES.md.",
            ".bridle/commands/plain.md": "The rules are in @RULES.md.",
            ".bridle/commands/said.md": "!`echo @note.txt`",
            "RULES.md": "Be kind.",
            "note.txt": "A note.",
            "src/a (copy).py": "print()",
        },
    )
    (home.project / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + bytes(20))
    rules, note = {"RULES.md": "Be kind."}, {"note.txt": "A note."}
    assert sent_files(home, "/review", "my-branch") == rules
    assert sent_files(home, "/plain", "my-branch") == rules
    assert sent_files(home, "/plain", "and @note.txt") == {**rules, **note}
    # What a command prints names no file.
    assert sent_files(home, "/said", BRIDLE_PERMISSION__BASH='"allow"') == {}
    for prompt in ("see @note.txt", "(@note.txt)", "@note.txt, please", "is it @note.txt?", "**@./note.txt**"):
        assert list(sent_files(home, prompt).values()) == ["A note."], prompt
    assert sent_files(home, 'look at @"src/a (copy).py"') == {"src/a (copy).py": "print()"}
    image = home.run("run", "--model", home.script({"text": "x"}), "look at @dot.png")
    assert "does not take image files" in image.stderr
    assert sent_files(home, given="see @note.txt") == note
    # Names of no file stay text, and data that is piped in beside words names nothing.
    assert sent_files(home, "ask me@note.txt, @nobody, @src and `@note.txt`", given="+ see @note.txt") == {}


def test_a_file_that_a_prompt_names_is_read_by_the_rules_of_the_read_tool(home):
    write(home.project, {".env": "KEY=1", "note.txt": "A note."})
    write(home.folder, {"beside.txt": "Outside."})
    (home.project / "link.txt").symlink_to(home.folder / "beside.txt")
    model = home.script({"text": "Done."})
    for name in (".env", "../beside.txt", "link.txt", str(home.folder / "beside.txt")):
        done = home.run("run", "--model", model, f"look at @{name}.")
        assert (done.returncode, f"@{name} may not be read" in done.stderr) == (2, True), name
        assert list(sent_files(home, "--on-ask", "allow", f"look at @{name}")) == [name]
    denied = home.run("run", "--model", model, "see @note.txt", BRIDLE_PERMISSION__READ='"deny"')
    assert (denied.returncode, "@note.txt may not be read" in denied.stderr) == (2, True)


def test_shell_commands_of_a_template_need_permission_and_no_argument_becomes_one(home):
    write(home.project, COMMANDS)
    done = home.run("run", "--model", home.script({"text": "x"}), "--trust", "/look")
    assert (done.returncode, "!`cat hello.txt` needs a person's permission" in done.stderr) == (2, True)
    denied = home.run(
        "run", "--model", home.script({"text": "x"}), "--trust", "/look", BRIDLE_PERMISSION__BASH='"deny"'
    )
    assert (denied.returncode, "the rules deny !`cat hello.txt`" in denied.stderr) == (2, True)
    allowed = {"BRIDLE_PERMISSION__BASH": '"allow"'}
    _, shown = prompted(home, "/log", "a; touch made", "$(touch made)", "!`touch made`", **allowed)
    assert "Log: a; touch made $(touch made) !`touch made`" in shown
    assert not (home.project / "made").exists()


def test_settings_are_listed_with_their_origin_and_without_secrets(home):
    write(
        home.folder,
        {
            ".config/bridle/config.toml": "[limits]\ncost = 2.5\n[mcp.a]\nurl = 'https://x'\n"
            "headers = { A = 'sk-secret', B = '{env:B}' }\n",
            "project/bridle.toml": "[limits]\ntool_calls = 7\n",
        },
    )
    rows = {line.split()[0]: line for line in home.run("config").stdout.splitlines()}
    config = home.folder / ".config" / "bridle" / "config.toml"
    assert rows["limits.cost"].endswith(f"2.5  ({config})")
    assert rows["limits.tool_calls"].endswith(f"7  ({home.project / 'bridle.toml'})")
    assert rows["limits.tokens"].endswith("null  (default)")
    assert "[hidden]" in rows["mcp.a.headers.A"] and "{env:B}" in rows["mcp.a.headers.B"]
    assert home.run("config", BRIDLE_AGENT="plan").stdout.splitlines()[2].endswith('"plan"  (environment)')


def test_config_check_names_every_problem_with_its_line(home):
    write(
        home.project,
        {
            "bridle.toml": 'modle = "x"\n[behavior]\nmax_steps = 0\n[limits]\ncost = "much"\n[agents.x]\nsteps = -3\n',
            ".opencode/agent/bad.md": "---\nsteps: 2\nsteps: 3\n---\nx",
        },
    )
    done = home.anew("config", "check")
    path = home.project / "bridle.toml"
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        f"{path}:1: modle is not known; did you mean model?",
        f"{path}:3: behavior.max_steps must be more than 0: leave it out for the ceiling alone",
        f"{path}:5: limits.cost must be a number, not 'much'",
        f"{path}:7: agents.x.steps must not be negative, not -3",
        f"{home.project}/.opencode/agent/bad.md: the agent bad is left out: line 3: the key 'steps' is there twice",
    ]


def test_init_writes_a_file_of_comments_that_is_right_as_it_stands(home):
    assert home.anew("init").stdout == "written: bridle.toml\n"
    assert home.run("config", "check").stdout == "nothing is wrong\n"
    text = (home.project / "bridle.toml").read_text()
    assert "# max_steps = 25" in text and all(line.startswith("#") or not line for line in text.splitlines())
    assert home.run("init").returncode == 2
    # Taken out of their comments, its lines are settings that make sense.
    examples = [line[2:] for line in text.splitlines()[4:] if line.startswith("# ")]
    (home.project / "bridle.toml").write_text("\n".join(examples))
    assert home.run("config", "check").stdout == "nothing is wrong\n"


def test_the_published_schema_is_the_one_of_the_settings(home):
    assert json.loads((ROOT / "docs" / "bridle.schema.json").read_text()) == json.loads(
        home.anew("config", "schema").stdout
    )


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


@pytest.mark.parametrize(
    "files",
    [
        {".claude/agents/x.md": "---\nname: plan\ntools: [\n---\nx"},
        {"AGENTS.md": "---\ndescription: x\nname: build\nname: build\n---\nx"},
        {".bridle/agents/rev.md": "---\npermission: {edit: denyy}\n---\nx"},
        {"opencode.json": '{"agent": {"build": {"permission": "nope"}}}'},
    ],
    ids=["claude", "agents_md", "over_the_users", "opencode"],
)
def test_a_broken_definition_of_somebody_who_is_there_anyway_is_an_error(home, files):
    write(home.folder, {".config/bridle/agents/rev.md": "---\npermission: {edit: deny}\n---\nRev."})
    write(home.project, files)
    done = home.run("agents", "--trust")
    assert (done.returncode, str(home.project / next(iter(files))) in done.stderr) == (2, True)
    assert home.run("agents").returncode == 0


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


def test_arguments_never_become_commands_in_any_quotes(home):
    write(
        home.project,
        {
            ".bridle/commands/double.md": 'A !`echo "$1"`',
            ".bridle/commands/single.md": "B !`echo '$1' $ARGUMENTS`",
            ".bridle/commands/rest.md": "Fix $1 in $2: !`echo $1` and $1 again. See @notes.md.",
            ".bridle/commands/env.md": "Look at @.env",
            ".bridle/commands/plan.md": "---\nagent: plan\n---\n!`touch planned`",
            "notes.md": "the notes",
            ".env": "KEY=1",
        },
    )
    allowed = {"BRIDLE_PERMISSION__BASH": '"allow"'}
    assert "A $(touch made)" in prompted(home, "/double '$(touch made)'", **allowed)[1]
    assert "B $1 `touch made`" in prompted(home, "/single '`touch made`'", **allowed)[1]
    shown = prompted(home, "/rest a b c", **allowed)[1]
    assert "Fix a in b c: a and a again." in shown
    assert not (home.project / "made").exists()
    done = home.run("run", "--model", home.script({"text": "x"}), "--trust", "/env")
    assert (done.returncode, "@.env may not be read" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "files",
    [
        {"bridle.toml": 'agents = "x"'},
        {"opencode.json": '{"provider": {"p": {"models": {"m": {"variants": {"v": 3}}}}}}'},
        {"opencode.json": '{"agent": {"x": {"options": 3, "request": {"body": {"a": 1}}}}}'},
        {"bridle.toml": 'instructions = ["/**x/*.md", "~nobody/x", "/", ""]'},
    ],
)
def test_nonsense_has_words(home, files):
    write(home.project, files)
    for words in (("agents",), ("agents", "--trust"), ("config", "check"), ("config", "prompt", "--trust")):
        done = home.run(*words, OPENAI_API_KEY="x", BRIDLE_MODEL="openai/gpt-4.1")
        assert "should not have happened" not in done.stderr and "Traceback" not in done.stderr


def test_config_hides_secrets_wherever_they_stand(home):
    secret = "hunter2hunter2"
    write(
        home.folder,
        {
            ".config/bridle/config.toml": f"""
[mcp.a]
command = ["srv", "--token", "{secret}", "--key=sk-{secret}{secret}", "--port", "80"]
[mcp.b]
url = "https://x/?api_key={secret}"
headers = {{ A = "Bearer {secret} {{env:X}}" }}
[[hooks]]
on = "turn_end"
command = "curl -H 'Authorization: Bearer sk-{secret}{secret}' x"
"""
        },
    )
    listed = home.run("config").stdout
    assert secret not in listed
    assert '"--port","80"' in listed and "{env:X}" in listed


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


def test_doctor_reports_a_broken_configuration_and_goes_on(home):
    write(home.folder, {".config/bridle/config.toml": 'modle = "a/b"\n'})
    done = home.run("doctor", BRIDLE_BEHAVIOR__EMBEDDED="false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "modle is not known; did you mean model?" in done.stdout
    for section in ("machine", "project", "configuration", "models", "journal", "terminal"):
        assert f"{section}\n" in done.stdout


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
