"""Trees on the command line: real processes that pause, die and go on; what a person sees of subagents."""

import json
import time

import pytest
from support.cli_home import Home, calls
from support.served_model import serving


def task(agent, prompt="look into it"):
    return ("task", {"description": "a piece", "prompt": prompt, "subagent_type": agent})


@pytest.fixture
def family(home: Home):
    """A lead, a scout and a digger below it, each with a script of its own; the digger must ask before it digs."""
    lead = home.script(calls(task("scout")), "All is known.", name="lead.json")
    scout = home.script(calls(task("digger")), "The digger was here.", name="scout.json")
    digger = home.script(calls(("bash", {"command": "echo dug >> dug"})), "Dug.", name="digger.json")
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        f'[tree]\ndepth = 2\n[agents.scout]\nmodel = "{scout}"\n[agents.digger]\nmodel = "{digger}"\n'
    )
    home.lead = lead
    return home


ASKS = {"BRIDLE_PERMISSION__TASK": '"ask"', "BRIDLE_TREE__DEPTH": "1"}


def test_a_subagent_that_the_person_names_is_started_without_a_second_ask(family):
    family.script({"text": "Looked."}, then={"text": "Looked."}, name="scout.json")

    def asked(*words, given=""):
        family.script(calls(task("scout")), {"text": "All is known."}, name="lead.json")
        return family.json("--model", family.lead, *words, given=given, **ASKS)[1][-1]["denied"]

    assert asked("go")
    assert not asked("let @scout look")
    # Only words that the person typed: data that is piped in asks for nothing, and another agent is another matter.
    assert asked("go", given="let @scout look")
    assert asked("let @digger look")


def test_agents_that_the_rules_deny_are_not_offered(family):
    def offered(permission):
        with serving(then="Done.") as server:
            config = family.folder / ".config" / "bridle" / "config.toml"
            config.write_text(
                f'[providers.ours]\nwire = "chat"\nbase_url = "{server.address}/v1"\nauth = "none"\n'
                f'[agents.scout]\ndescription = "Scouts."\n[agents.digger]\ndescription = "Digs."\n{permission}'
            )
            family.run("run", "--model", "ours/m", "go")
            tools = {tool["function"]["name"]: tool["function"] for tool in server.bodies[0].get("tools", ())}
        return tools["task"]["description"] if "task" in tools else None

    whole = offered("")
    assert "- scout: Scouts." in whole and "- digger: Digs." in whole
    fewer = offered('[permission.task]\n"dig*" = "deny"\n')
    assert "- scout: Scouts." in fewer and "digger" not in fewer
    assert offered('[permission.task]\n"?*" = "deny"\n') is None


def test_a_command_with_a_subtask_runs_as_a_subagent_and_its_report_goes_on(family):
    (family.project / "opencode.json").write_text(
        json.dumps({"command": {"dig": {"template": "Dig at $1, see @hello.txt.", "agent": "digger", "subtask": True}}})
    )
    family.script({"text": "Dug deep."}, name="digger.json")
    lead = family.script({"text": "The model was asked."}, {"text": "The digger is done."}, name="lead.json")
    code, lines = family.json("--model", lead, "--trust", "/dig", "noon", **ASKS)
    result = lines[-1]
    assert (code, result["text"], result["steps"], result["denied"]) == (0, "The digger is done.", 2, False)
    used = [line for line in lines if line["type"] == "tool_use"]
    assert {line["tool"] for line in used} == {"task"} and "Dug deep." in used[-1]["output"]
    (child,) = (
        row for row in family.run("sessions", "--all").stdout.split() if row.startswith(f"{lines[0]['session']}.")
    )
    shown = family.run("show", child).stdout
    assert "Dig at noon, see @hello.txt." in shown and "hello" in shown
    (family.project / "opencode.json").write_text(
        json.dumps({"command": {"dig": {"template": "Dig.", "agent": "plan", "subtask": True}}})
    )
    refused = family.run("run", "--model", lead, "--trust", "/dig")
    assert (refused.returncode, "agent plan of this command cannot run as a subagent" in refused.stderr) == (2, True)


def test_a_pause_in_a_grandchild_survives_every_process_and_is_answered_at_the_root(family):
    code, lines = family.json("--model", family.lead, "--on-ask", "pause", "go")
    assert (code, lines[-1]["reason"]) == (5, "paused")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    root = lines[0]["session"]
    assert ask["session"] == f"{root}.1.1.1.0.0.1.1.1.0.0"
    assert ask["text"] == "Allow bash: echo dug?"
    assert "paused" in family.run("sessions").stdout
    done = family.run("answer", root, ask["id"], "once", "--format", "json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["reason"], result["text"]) == (0, "answered", "All is known.")
    assert (family.project / "dug").read_text() == "dug\n"
    assert (result["steps"], result["tool_calls"]) == (2, 1)


def test_an_ask_may_be_answered_where_it_came_up_and_the_whole_tree_is_driven_on(family):
    _, lines = family.json("--model", family.lead, "--on-ask", "pause", "go")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    done = family.run("answer", ask["session"], "1.1.1.0.0.bash", "reject", "--feedback", "leave it")
    assert done.returncode == 0
    assert "All is known." in done.stdout
    assert not (family.project / "dug").exists()


def test_a_tree_whose_process_was_killed_is_resumed_from_any_of_its_sessions(family):
    family.script(
        {"text": "slow", "calls": [{"name": "bash", "arguments": {"command": "echo dug >> dug; sleep 60"}}]},
        "Dug.",
        name="digger.json",
    )
    process = family.start("run", "--format", "json", "--model", family.lead, "--on-ask", "allow", "go")
    root = json.loads(process.stdout.readline())["session"]
    deadline = time.monotonic() + 60
    while not (family.project / "dug").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    done = family.run("resume", f"{root}.1.1.1.0.0", "--format", "json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["session"], result["text"]) == (0, root, "All is known.")
    assert (family.project / "dug").read_text() == "dug\n"
    assert "outcome is unknown" in family.run("show", f"{root}.1.1.1.0.0.1.1.1.0.0").stdout


def test_a_person_sees_what_subagents_do_as_a_tree(family):
    done = family.run("run", "--model", family.lead, "--on-ask", "allow", "go")
    assert done.returncode == 0
    root = done.stderr.split("session ")[1].split()[0]
    child = f"{root}.1.1.1.0.0"
    told = [line for line in done.stderr.splitlines() if not line.startswith(("session", "answered"))]
    assert told == [
        "step 1/200",
        '  task {"description":"a piece","prompt":"look into it","subagent_type":"scout"}',
        f"  → subagent {child}",
        "  │ step 1/200 · scout",
        '  │   task {"description":"a piece","prompt":"look into it","subagent_type":"digger"}',
        f"  │   → subagent {child}.1.1.1.0.0",
        "  │   │ step 1/200 · digger",
        '  │   │   bash {"command":"echo dug >> dug"}',
        "  │   │ step 2/200 · digger",
        f"  │   ✓ subagent {child}.1.1.1.0.0: 2 steps, 1 call",
        "  │ step 2/200 · scout",
        f"  ✓ subagent {child}: 4 steps, 2 calls",
        "step 2/200",
    ]
    listed = family.run("sessions").stdout.splitlines()
    assert len(listed) == 1
    assert len(family.run("sessions", "--all").stdout.splitlines()) == 3


def test_where_nobody_can_be_asked_the_exit_status_says_so(family):
    code, lines = family.json("--model", family.lead, "go")
    assert (code, lines[-1]["reason"], lines[-1]["denied"]) == (4, "answered", True)


def test_a_daily_cost_limit_holds_over_all_sessions_and_processes(home):
    price = {"input": 1_000.0, "output": 1_000.0}
    usage = {"input": 1_000, "output": 1_000}
    model = home.script(then={"text": "done", "usage": usage}, price=price, max_output_tokens=1_024)
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[limits.daily]\ncost = 10.0\n[limits.monthly]\ncost = 100.0\n")
    ends = [home.json("--model", model, "go")[1][-1]["reason"] for _ in range(6)]
    assert ends[0] == "answered"
    assert ends[-1] == "cost_budget"
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    "text, words",
    [
        ("[tree]\ndepth = 4\n", "tree.depth must be a whole number from 0 to 3, not 4"),
        ("[tree]\nlive = 0\n", "tree.live must be a whole number from 1 to 64, not 0"),
        ("[limits.daily]\ncost = -1.0\n", "limits.daily.cost must not be negative"),
        ("[limits]\nsubagent_tool_calls = 2.5\n", "limits.subagent_tool_calls must be a whole number"),
        ("[compaction]\nautomatic = true\n", "compaction.automatic is not known; did you mean compaction.auto?"),
    ],
)
def test_nonsense_bounds_are_refused_by_name(home, text, words):
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(text)
    done = home.run("run", "--model", home.script("hi"), "go")
    assert done.returncode == 2
    assert words in done.stderr


def test_a_session_is_compacted_by_hand(home):
    words = "many words " * 2_000
    model = home.script(words, summary="Much was said.")
    root = home.json("--model", model, "talk")[1][0]["session"]
    done = home.run("compact", root)
    assert (done.returncode, done.stdout.startswith("compacted from about")) == (0, True)
    assert "context compacted" in home.run("show", root).stdout
    assert home.run("compact", "ses_nobody").returncode == 2
