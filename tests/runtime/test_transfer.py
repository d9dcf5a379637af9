"""Sessions that are carried elsewhere or go on in two directions."""

import asyncio
import json
import time
from dataclasses import replace

import pytest
from support.cli_home import ForkedHome, calls
from support.crash import Left, lived, play
from support.crash_scenarios import SCENARIOS
from support.planted_secrets import NAMED_SECRETS, SHAPED_SECRETS
from support.virtual import SESSION, run_virtually

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.core.agent import AgentDefinition
from bridle.journal.memory import MemoryJournal
from bridle.runtime.transfer import export_session, import_bundle
from bridle.values.secrets import redacted


@pytest.fixture
def home(tmp_path):
    return person(tmp_path, "one")


def person(folder, name):
    home = folder / name
    (home / "project").mkdir(parents=True)
    return ForkedHome(home, home / "project")


def session_of(home, *replies, prompt="go"):
    _, lines = home.json("--model", home.script(*replies, {"text": "Done."}), "--on-ask", "allow", prompt)
    return lines[-1]["session"]


def a_tree_with_a_long_output(home):
    task = {"description": "d", "prompt": "count", "subagent_type": "general"}
    return session_of(home, calls(("bash", {"command": "seq 9000"}), ("task", task)))


def test_export_import_export_is_byte_identical(home, tmp_path):
    session = a_tree_with_a_long_output(home)
    assert home.run("export", session, "-o", "out.json").stdout == "written: out.json\n"
    exported = home.project / "out.json"
    assert exported.stat().st_mode & 0o777 == 0o600
    bundle = json.loads(exported.read_text())
    assert len(bundle["sessions"]) == 2 and bundle["sessions"][0]["info"]["id"] == session
    assert any(each.get("outputs") for each in bundle["sessions"])
    other = person(tmp_path, "other")
    (other.project / "in.json").write_bytes(exported.read_bytes())
    assert other.run("import", "in.json").stdout == f"{session}\n"
    assert other.run("export", session).stdout == exported.read_text()
    assert other.run("show", session).stdout == home.run("show", session).stdout
    # Again changes nothing; it goes on there.
    assert other.run("import", "in.json").returncode == 0
    assert other.json("--model", other.script({"text": "On."}), "--session", session, "go on")[1][-1]["text"] == "On."
    refused = other.run("import", "in.json")
    assert refused.returncode == 0, "what is there goes further, and has the same beginning"


def test_an_import_that_contradicts_what_is_there_is_refused(home):
    session = session_of(home, {"text": "One."})
    bundle = json.loads(home.run("export", session).stdout)
    bundle["sessions"][0]["entries"][-1]["at"] += 1
    (home.project / "in.json").write_text(json.dumps(bundle))
    done = home.run("import", "in.json")
    assert (done.returncode, "already exists here with different entries" in done.stderr) == (2, True)


def accounts(home, ids):
    async def read():
        async with Runtime.open(home.project, environment=home.environment) as runtime:
            found = [await runtime.journal.account(id) for id in ids]
            return [(each.spent, each.children, each.live, each.total) for each in found]

    return asyncio.run(read())


def test_a_turn_that_was_interrupted_goes_on_where_it_was_imported(home, tmp_path):
    task = ("task", {"description": "a piece", "prompt": "look", "subagent_type": "general"})
    slow = ("bash", {"command": "echo once >> ran; sleep 60"})
    model = home.script(calls(task), calls(slow), {"text": "Looked."}, {"text": "All done."})
    run = home.start("run", "--format", "json", "--on-ask", "allow", "--max-tokens", "100000", "--model", model, "go")
    session = json.loads(run.stdout.readline())["session"]
    while not (home.project / "ran").exists():
        assert run.poll() is None
        time.sleep(0.05)
    run.kill()
    run.communicate()
    exported = home.run("export", session).stdout
    other = person(tmp_path, "other")
    (other.project / "in.json").write_text(exported)
    assert other.run("import", "in.json").returncode == 0
    ids = [f"{session}/1", f"{session}.1.1.1.0.0/1"]
    assert accounts(other, ids) == accounts(home, ids)
    # The model begins anew in a new process.
    home.script({"text": "Looked."}, {"text": "All done."})
    done = other.run("resume", session)
    assert (done.returncode, done.stdout) == (0, "All done.\n"), done.stderr


@pytest.mark.parametrize(
    "content",
    [
        *("", "{}", "[]", '{"bridle": 1}', '{"bridle": 2, "sessions": []}', '{"bridle": 1, "sessions": []}'),
        '{"bridle": 1, "sessions": [{"info": {"id": "../x", "directory": "/"}, "entries": []}]}',
    ],
)
def test_what_is_no_export_is_refused_in_words(home, content):
    (home.project / "in.json").write_text(content)
    done = home.run("import", "in.json")
    assert (done.returncode, "Traceback" in done.stderr, done.stderr.startswith("bridle: ")) == (2, False, True)
    assert home.run("sessions").stdout == ""


def test_an_import_that_is_nested_too_deeply_says_so(home):
    (home.project / "in.json").write_text('{"bridle": 1, "sessions": ' + '[{"a": ' * 3_000 + "1" + "}]" * 3_000 + "}")
    done = home.run("import", "in.json")
    assert (done.returncode, done.stderr) == (2, "bridle: this is not an exported session: it is nested too deeply\n")


def test_a_fork_has_the_history_and_goes_its_own_way(home):
    session = session_of(home, {"text": "One."})
    home.json("--model", home.script({"text": "Two."}), "--session", session, "again")
    before = home.run("export", session).stdout
    forked = home.anew("fork", session, "--turn", "2").stdout.strip()
    _, lines = home.json("--model", home.script({"text": "Other."}), "--session", forked, "differently")
    assert (lines[-1]["text"], lines[-1]["session"]) == ("Other.", forked)
    shown = home.run("show", forked).stdout
    assert "One." in shown and "Two." not in shown and "Other." in shown
    assert home.run("export", session).stdout == before
    _, lines = home.json("--model", home.script({"text": "Third."}), "--session", session, "--fork", "third")
    assert lines[-1]["session"] not in (session, forked)
    assert "Two." in home.run("show", lines[-1]["session"]).stdout
    assert home.run("export", session).stdout == before
    assert home.run("fork", session, "--turn", "9").returncode == 2
    assert home.anew("run", "--fork", "x").returncode == 2


def test_a_fork_does_not_reach_the_subagents_of_the_other(home):
    task = {"description": "d", "prompt": "p", "subagent_type": "general"}
    session = session_of(home, calls(("task", task)))
    (child,) = [each["info"]["id"] for each in json.loads(home.run("export", session).stdout)["sessions"][1:]]
    forked = home.run("fork", session).stdout.strip()
    model = home.script(calls(("task", {**task, "task_id": child})), {"text": "Done."})
    _, lines = home.json("--model", model, "--session", forked, "again")
    (used,) = [line for line in lines if line["type"] == "tool_use" and line["state"] != "pending"]
    assert f'"{child}" is no subagent of this session' in used["output"]


def planted():
    named = {name: f"planted-{number}-{name.lower()}" for number, name in enumerate(NAMED_SECRETS.split())}
    return {**named, **SHAPED_SECRETS}


def test_fifty_secrets_in_a_file_are_in_no_redacted_export(home):
    secrets = planted()
    assert len(secrets) >= 50
    (home.project / "secrets.txt").write_text("".join(f"{name}={value}\n" for name, value in secrets.items()))
    session = session_of(home, calls(("read", {"filePath": "secrets.txt"})))
    plain, clean = home.run("export", session).stdout, home.anew("export", session, "--redact").stdout
    lines = [line for value in secrets.values() for line in value.splitlines() if "-----" not in line]
    seen = [line for line in lines if line in plain]
    assert len(seen) > 45, "unredacted it is exact"
    assert [line for line in lines if line in clean] == []
    assert json.loads(clean)["redacted"] is True
    logs = (home.folder / ".local" / "state" / "bridle" / "bridle.log").read_text()
    assert [line for line in lines if line in logs] == []


@pytest.mark.parametrize(
    "text",
    [
        "the key to the stable",
        "token: 3",
        "password = x",
        "def tokenize(text): return text",
        "https://a.b/c?d=e",
        "sk-i",
    ],
)
def test_ordinary_words_are_left_alone(text):
    assert redacted(text) == text


def test_sessions_are_searched_and_renamed(home, tmp_path):
    one = session_of(home, {"text": "About horses."}, prompt="first")
    two = session_of(home, calls(("read", {"filePath": "saddle.txt"})), prompt="second")
    listed = home.run("sessions").stdout
    assert [line.split()[0] for line in listed.splitlines()] == [two, one]
    assert home.anew("sessions", "--search", "HORSES").stdout.split()[0] == one
    assert home.run("sessions", "--search", "saddle").stdout.split()[0] == two
    assert home.run("sessions", "--search", "camel").stdout == ""
    assert home.run("sessions", "rename", one, "  The   horses ").returncode == 0
    assert home.run("sessions", "--search", "the horses").stdout.rstrip().endswith("The horses")
    assert home.run("sessions", "rename", one, " ").returncode == 2
    # It is part of the record, so it goes along.
    assert json.loads(home.run("export", one).stdout)["sessions"][0]["info"]["title"] == "The horses"
    forked = home.run("fork", one).stdout.strip()
    _, lines = home.json("--model", home.script({"text": "More."}), "--session", forked, "go on")
    assert (lines[-1]["text"], lines[-1]["session"]) == ("More.", forked)
    other = person(tmp_path, "other")
    (other.project / "in.json").write_text(home.run("export", one).stdout)
    assert other.run("import", "in.json").stdout.strip() == one
    assert other.run("export", one).stdout == home.run("export", one).stdout


@pytest.mark.parametrize("name", ["subagents beside a tool", "subagents that wait their turn", "extension"])
def test_a_turn_that_died_anywhere_is_carried_elsewhere_and_goes_on_there(name):
    """Also between the call that starts a subagent and the subagent, and between the subagent's end and its report."""
    scenario = next(each for each in SCENARIOS if each.name == name)
    _, _, points = play(scenario)
    sizes = set()
    for at in range(1, len(points) + 1):
        _, left, _ = lived(scenario, Left(), 0, at)
        if SESSION not in left.store._sessions or len(left.store._sessions[SESSION].entries) == 1:
            # What is only in the inbox stays behind.
            continue
        there = MemoryJournal()
        raw, again = run_virtually(lambda seams, here=left.store, there=there: carried(seams, here, there))
        assert raw == again, at
        sizes.add((len(json.loads(raw)["sessions"]), len(left.store._sessions)))
        result, after, _ = lived(replace(scenario, people=waiting), Left(there, left.world, left.counts), 1)
        # An extension that nobody took yet stays behind, as everything in an inbox does.
        left_behind = name == "extension" and b".extension" not in raw
        assert left_behind or (result.reason, result.steps) == scenario.ends[:2], at
        accounts = after.store._accounts.values()
        assert {(account.live, account.children, account.held == {}) for account in accounts} <= {(0, 0, True)}, at
    assert (len({count for count, _ in sizes}) > 1) == (scenario.child is not None)


async def waiting(life):
    """They brought it here, and only want to know how it ends."""
    await life.runtime.resume(SESSION)
    return await life.runtime.wait(SESSION, "prm_one")


async def carried(seams, here, there):
    """Exported here, imported there, and exported again."""
    agents = [AgentDefinition("build", model="m"), AgentDefinition("child", model="m")]
    one, other = (
        Runtime(RuntimeConfig(journal=journal, agents=agents, models={"m": ScriptedModel()}, seams=seams))
        for journal in (here, there)
    )
    raw = await export_session(one, SESSION)
    await import_bundle(other, raw)
    return raw, await export_session(other, SESSION)
