"""Extensions of a project and its user: approvals, trust, Python tools, skills and hooks, by the real command line."""

import asyncio
import json
import py_compile

import pytest
from support.cli_home import calls
from support.planted_secrets import NAMED_SECRETS, SHAPED_SECRETS
from support.project_tool import WEIGH, on_terminal

from bridle.tools.command_setup import CommandSetup
from bridle.tools.python_tools import brought_tools
from bridle.tools.tool import Invocation


def outputs(lines):
    return [line["output"] for line in lines if line["type"] == "tool_use" and "output" in line]


def paused(home, *commands):
    """A turn that asks before each of its commands; the asks as they come up."""
    model = home.script(*(calls(("bash", {"command": command})) for command in commands), {"text": "Done."})
    code, lines = home.json("--model", model, "--on-ask", "pause", "go")
    return code, [line for line in lines if line["type"] == "ask"]


def test_an_always_is_remembered_for_the_project_listed_and_revoked(home):
    code, (ask,) = paused(home, "git status --short")
    assert (code, ask["text"]) == (5, "Allow bash: git status --short?")
    assert home.run("answer", ask["session"], ask["id"], "always").returncode == 0
    assert home.anew("permissions").stdout == "  1  bash: git status *\n"
    # Another session, another process: what fits passes, what does not is asked.
    assert paused(home, "git status --branch")[0] == 0
    assert paused(home, "git log")[0] == 5
    assert home.anew("permissions", "revoke", "7").stderr == "bridle: there is no approval 7: this project has 1\n"
    assert home.run("permissions", "revoke", "1").stdout == "revoked  bash: git status *\n"
    assert home.run("permissions").stdout == "no permanent permissions\n"
    assert paused(home, "git status --branch")[0] == 5


def test_an_always_never_answers_for_a_deny(home):
    _, (ask,) = paused(home, "git status")
    home.run("answer", ask["session"], ask["id"], "always")
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[permission.bash]\n"git *" = "deny"\n')
    model = home.script(calls(("bash", {"command": "git status"})), {"text": "Done."})
    _, lines = home.json("--model", model, "go")
    assert "the rules deny bash" in outputs(lines)[0]


def test_an_edit_that_is_asked_about_comes_with_its_diff(home):
    (home.project / ".envrc").write_text("one\n")
    edit = {"filePath": ".envrc", "oldString": "one", "newString": "two"}
    model = home.script(calls(("read", {"filePath": ".envrc"})), calls(("edit", edit)), {"text": "Done."})
    code, lines = home.json("--model", model, "--on-ask", "pause", "go")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    assert code == 5
    assert ask["diff"].splitlines() == ["--- a/.envrc", "+++ b/.envrc", "@@ -1 +1 @@", "-one", "+two"]
    assert home.run("answer", ask["session"], ask["id"], "once").returncode == 0
    assert (home.project / ".envrc").read_text() == "two\n"


def test_a_question_is_answered_from_the_command_line(home):
    asked = ("question", {"questions": [{"question": "Which?", "options": [{"label": "bay"}]}]})
    model = home.script(calls(asked), {"text": "Bay."})
    code, lines = home.json("--model", model, "--on-ask", "pause", "go")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    assert (code, ask["kind"], ask["choices"]) == (5, "question", ["bay"])
    done = home.run("answer", ask["session"], ask["id"], "1", "--format", "json")
    assert "The person answered: bay" in outputs([json.loads(line) for line in done.stdout.splitlines()])


def weighing(home, *more):
    model = home.script(calls(("weigh", {"horse": "Star", "load": "20"})), {"text": "Done."})
    return home.run("run", "--model", model, "--format", "json", *more, "go")


def test_tools_of_a_project_run_once_it_is_trusted_and_not_after_a_change(home):
    tools = home.project / ".bridle" / "tools"
    tools.mkdir(parents=True)
    (tools / "weigh.py").write_text(WEIGH)
    assert "loads the Python tools of weigh.py" in home.run("run", "--model", home.script("hi"), "go").stderr
    assert "Star weighs 520 kg" not in weighing(home).stdout
    granted = "  loads the Python tools of weigh.py\n"
    assert home.run("trust").stdout == f"{granted}{home.project} is trusted, as it is now\n"
    assert "Star weighs 520 kg" in weighing(home).stdout
    (tools / "weigh.py").write_text(WEIGH.replace("500", "600"))
    assert "Star weighs" not in weighing(home).stdout
    assert "Star weighs 620 kg" in weighing(home, "--trust").stdout
    home.run("trust")
    assert home.anew("trust", "--revoke").stdout == f"{home.project} is no longer trusted\n"
    assert "Star weighs" not in weighing(home).stdout


@pytest.mark.parametrize("text", ["import nosuchmodule", "raise SystemExit(3)", "def f(x): pass", "def ("])
def test_a_tool_file_that_cannot_be_loaded_is_named_and_left_out(home, text):
    tools = home.folder / ".config" / "bridle" / "tools"
    tools.mkdir(parents=True)
    (tools / "broken.py").write_text(text)
    (tools / "weigh.py").write_text(WEIGH)
    done = home.run("run", "--model", home.script("hi"), "go")
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert "broken.py" in done.stderr and "Traceback" not in done.stderr
    assert "Star weighs 520 kg" in weighing(home).stdout


SETTING = "[limits]\ntool_calls = 900\n"


def test_settings_of_a_project_apply_once_it_is_trusted(home):
    (home.project / "bridle.toml").write_text(SETTING)
    assert "raises limits.tool_calls to 900" in home.run("run", "--model", home.script("x"), "go").stderr
    assert home.run("trust").stdout == f"  raises limits.tool_calls to 900\n{home.project} is trusted, as it is now\n"
    assert "no effect" not in home.run("run", "--model", home.script("x"), "go").stderr
    (home.project / "bridle.toml").write_text(SETTING.replace("900", "901"))
    assert "has changed since you trusted it" in home.run("run", "--model", home.script("x"), "go").stderr


def test_on_a_terminal_the_first_run_asks_and_remembers_a_no(home):
    (home.project / "bridle.toml").write_text(SETTING)
    words = ["run", "--model", home.script("hi"), "go"]
    shown = on_terminal(home, words, ("Trust them", "n\n"))
    assert "request this:\r\n    raises limits.tool_calls to 900" in shown
    assert "Trust them" not in on_terminal(home, words)
    (home.project / "bridle.toml").write_text(SETTING.replace("900", "950"))
    shown = on_terminal(home, words, ("Trust them", "y\n"))
    assert "Trust them" in shown and "no effect" not in shown


def test_a_skill_is_listed_in_the_system_prompt_and_loaded(home):
    for folder, words in ((".claude/skills/shoe", "How to: shoe a horse"), (".bridle/skills/feed", "Feeding")):
        (home.project / folder).mkdir(parents=True)
        (home.project / folder / "SKILL.md").write_text(
            f"---\nname: {folder[-4:]}\ndescription: {words}\n---\nDo it well.\n"
        )
    (home.project / ".claude/skills/shoe/nails.txt").write_text("six\n")
    model = home.script(calls(("skill", {"name": "shoe"})), calls(("skill", {"name": "none"})), {"text": "Done."})
    assert "- shoe: How to: shoe a horse" in home.run("config", "prompt", "--model", model).stdout
    _, lines = home.json("--model", model, "go")
    loaded, missing = outputs(lines)
    assert loaded.startswith("Do it well.") and "nails.txt" in loaded
    assert missing == "There is no skill 'none' (there are: feed, shoe)."


def linked_skill(home):
    """A project in which one skill is a link to a folder outside, another one holds a link to a file outside."""
    outside = home.folder / "outside" / "secret"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text("---\nname: secret\ndescription: Hidden words\n---\nThe hidden text.\n")
    (outside / "more.txt").write_text("More hidden text.\n")
    skills = home.project / ".claude" / "skills"
    (skills / "inner").mkdir(parents=True)
    (skills / "secret").symlink_to(outside)
    (skills / "inner" / "SKILL.md").symlink_to(outside / "SKILL.md")
    return outside


def test_a_skill_that_is_a_link_out_of_an_untrusted_project_is_not_loaded_unasked(home):
    outside = linked_skill(home)
    reads = ("read", {"filePath": str(outside / "more.txt")})
    model = home.script(
        *(calls(made) for made in (("skill", {"name": "secret"}), ("skill", {"name": "inner"}), reads)),
        {"text": "Done."},
    )
    assert "idden" not in home.run("config", "prompt", "--model", model).stdout
    _, lines = home.json("--model", model, "go")
    assert (
        outputs(lines)
        == ["not executed: external_directory needs a person's permission, and no person can be asked"] * 3
    )
    _, lines = home.json("--model", model, "--on-ask", "allow", "go")
    first, second, _ = outputs(lines)
    assert first.startswith("The hidden text.") and second.startswith("The hidden text.")


def test_a_skill_that_is_a_link_out_of_a_trusted_project_is_loaded(home):
    linked_skill(home)
    model = home.script(calls(("skill", {"name": "secret"})), {"text": "Done."})
    assert "- secret: Hidden words" in home.run("config", "prompt", "--trust", "--model", model).stdout
    _, lines = home.json("--trust", "--model", model, "go")
    assert outputs(lines)[0].startswith("The hidden text.")


def hooked(home, *hooks):
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True, exist_ok=True)
    lines = [f"[[hooks]]\non = '{on}'\ncommand = '''{command}'''\n{more}" for on, command, more in hooks]
    (config / "config.toml").write_text("\n".join(lines))


def test_a_hook_before_a_call_blocks_it_with_its_words(home):
    (home.project / "hello.txt").write_text("hello\n")
    hooked(home, ("before_call", 'grep -q secret && { echo "no secrets here"; exit 1; }; true', "tool = 'read'"))
    reads = calls(("read", {"filePath": "secret.txt"}), ("read", {"filePath": "hello.txt"}))
    _, lines = home.json("--model", home.script(reads, {"text": "Done."}), "go")
    refused, read = outputs(lines)
    assert refused == "not executed: a hook refused it: no secrets here"
    assert "hello" in read


def test_hooks_see_every_moment_of_a_turn_and_one_after_a_call_adds_its_words(home):
    (home.project / "hello.txt").write_text("hello\n")
    log = home.folder / "moments.jsonl"
    moments = ("step_start", "step_end", "limit", "turn_end", "before_call", "after_call")
    keep = f"cat >> {log}; echo >> {log}"
    hooked(home, *((on, keep, "") for on in moments), ("after_call", "echo please format it; exit 2", ""))
    model = home.script(calls(("read", {"filePath": "hello.txt"})), {"text": "Closed."})
    _, lines = home.json("--model", model, "--steps", "2", "go")
    assert "[a hook says: please format it]" in outputs(lines)[0]
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["event"] for one in seen] == [
        *("step_start", "step_end", "before_call", "after_call", "step_start", "step_end", "limit", "turn_end"),
    ]
    assert (seen[2]["tool"], seen[2]["arguments"], seen[-1]["reason"]) == (
        "read",
        {"filePath": "hello.txt"},
        "step_cap",
    )


def test_a_hook_that_hangs_is_ended_and_blocks_the_call(home):
    (home.project / "hello.txt").write_text("hello\n")
    hooked(home, ("before_call", "sleep 60", "seconds = 0.3"))
    _, lines = home.json("--model", home.script(calls(("read", {"filePath": "hello.txt"})), {"text": "Done."}), "go")
    assert "took too long" in outputs(lines)[0]


def test_hooks_of_a_project_that_nobody_trusts_do_not_run(home):
    (home.project / "bridle.toml").write_text(f"[[hooks]]\non = 'turn_end'\ncommand = 'touch {home.folder}/ran'\n")
    done = home.run("run", "--model", home.script("hi"), "go")
    assert f"runs the hook `touch {home.folder}/ran` (turn_end)" in done.stderr
    assert not (home.folder / "ran").exists()
    home.run("run", "--trust", "--model", home.script("hi"), "go")
    assert (home.folder / "ran").exists()


def claude(home, **permissions):
    (home.project / ".claude").mkdir(exist_ok=True)
    (home.project / ".claude" / "settings.json").write_text(json.dumps({"permissions": permissions}))


CLAUDE = {
    "a denied beginning": ("Bash(git push:*)", ("bash", {"command": "git push origin"}), "the rules deny bash"),
    "in a compound": ("Bash(git push:*)", ("bash", {"command": "ls && git push"}), "the rules deny bash"),
    "what may be it": ("Bash(git push:*)", ("bash", {"command": "git $x"}), "needs a person's permission"),
    "a folder": ("Read(./secrets/**)", ("read", {"filePath": "secrets/key"}), "the rules deny read"),
    "a name anywhere": ("Read(key)", ("read", {"filePath": "secrets/key"}), "the rules deny read"),
    "a search": ("Read(./secrets/**)", ("grep", {"pattern": "hay", "path": "secrets/key"}), "the rules deny grep"),
    "every edit": ("Edit", ("write", {"filePath": "new", "content": "x"}), "not"),
    "a domain": (
        "WebFetch(domain:example.org)",
        ("webfetch", {"url": "https://example.org/x"}),
        "the rules deny webfetch",
    ),
}


@pytest.mark.parametrize("rule,made,words", CLAUDE.values(), ids=CLAUDE)
def test_rules_written_for_claude_make_ours_stricter(home, rule, made, words):
    (home.project / "secrets").mkdir()
    (home.project / "secrets" / "key").write_text("hay\n")
    claude(home, deny=[rule], allow=["Bash(git:*)", "Read", "Bash(ls:*)"])
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[permission]\nbash = "allow"\nwebfetch = "allow"\n')
    _, lines = home.json("--model", home.script(calls(made), {"text": "Done."}), "go")
    assert words in outputs(lines)[0]


def test_their_allow_loosens_nothing_and_damage_is_told(home):
    claude(home, allow=["Bash(touch:*)"])
    _, lines = home.json("--model", home.script(calls(("bash", {"command": "touch x"})), {"text": "Done."}), "go")
    assert "needs a person's permission" in outputs(lines)[0]
    (home.project / ".claude" / "settings.json").write_text("{")
    assert "its permissions are ignored" in home.run("run", "--model", home.script("hi"), "go").stderr


def test_formatters_and_diagnostics_run_after_an_edit(home):
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        "[[formatters]]\nfiles = '*.txt'\ncommand = 'sed -i s/a/A/ {file}'\n"
        "[[diagnostics]]\nfiles = '*.txt'\ncommand = 'grep -n hAy {file} && exit 1; true'\n"
        "[[diagnostics]]\nfiles = '*.txt'\ncommand = 'sleep 9'\nseconds = 0.2\n"
    )
    more = {"filePath": "a b.txt", "oldString": "more", "newString": "less"}
    model = home.script(
        calls(("write", {"filePath": "a b.txt", "content": "a bale\nhay\nmore\n"})),
        calls(("edit", more)),
        {"text": "Done."},
    )
    _, lines = home.json("--model", model, "go")
    written, edited = outputs(lines)
    assert "[diagnostics for a b.txt]\n2:hAy" in written and "it took longer than 0.2 s" in written
    # The model may go on without reading what the formatter made of it.
    assert edited.startswith("Replaced in a b.txt: 1 place.")
    assert (home.project / "a b.txt").read_text() == "A bAle\nhAy\nless\n"


def doctor(home):
    return [line.strip() for line in home.run("doctor").stdout.splitlines()]


def test_the_doctor_lists_the_protections_in_force(home):
    said = doctor(home)
    assert "✗ no sandbox: it is switched off" in said and "✓ all files are valid" in said
    assert [line for line in said if line[:1] not in "✓✗"] == [
        *("installation", "machine", "project", "sandbox", "configuration", "models", "journal", "terminal")
    ]
    home.environment["BRIDLE_SANDBOX__MODE"] = "auto"
    assert any(line.startswith("✓ commands run in a sandbox (") for line in doctor(home))
    home.environment["PATH"] = "/nonexistent"
    lines = doctor(home)
    assert "✗ no sandbox: bubblewrap is not installed (Debian: apt-get install bubblewrap)" in lines
    assert "✗ git is not installed: apt-get install git" in lines


def test_the_doctor_names_keys_wrong_files_and_a_damaged_journal(home):
    home.environment["OPENAI_API_KEY"] = "sk-planted"
    journal = home.folder / ".local" / "share" / "bridle" / "journal.db"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"this is no database, and long enough to be taken for one" * 40)
    (home.project / "bridle.toml").write_text("max_stepz = 3\n")
    said = doctor(home)
    assert any(line.startswith("✓ openai: key from OPENAI_API_KEY") for line in said), said
    assert any(line.startswith("✗") and "max_stepz" in line for line in said)
    assert any(line.startswith("✗") and "journal" in line for line in said)
    assert not any("sk-planted" in line for line in said)


@pytest.mark.parametrize("sandbox", ["off", "auto"])
def test_fifty_planted_secrets_reach_no_command_and_no_file(home, sandbox):
    named = {name: f"planted-{number}-{name.lower()}" for number, name in enumerate(NAMED_SECRETS.split())}
    planted = {**named, **SHAPED_SECRETS}
    assert len(planted) >= 50
    hooked(home, ("before_call", f"env >> {home.folder}/hook-env; true", ""))
    look = "env; python3 -c 'import os; print(dict(os.environ))'; cat /proc/self/environ; echo looked"
    model = home.script(calls(("bash", {"command": look})), {"text": "Done."})
    done = home.run(
        *("run", "--model", model, "--on-ask", "allow", "--format", "json", "go"),
        **{**planted, "BRIDLE_SANDBOX__MODE": sandbox, "PLAIN": "plain-value"},
    )
    assert "plain-value" in done.stdout and "looked" in done.stdout
    kept = "".join(path.read_bytes().decode(errors="replace") for path in home.folder.rglob("*") if path.is_file())
    seen = done.stdout + done.stderr + kept
    lines = [line for value in planted.values() for line in value.splitlines() if "-----" not in line]
    assert [line for line in lines if line in seen] == []


def test_files_of_a_project_in_a_linked_folder_are_pinned_too(home):
    (home.project / ".bridle").mkdir()
    real = home.project / "real"
    real.mkdir()
    (home.project / ".bridle" / "tools").symlink_to(real)
    (real / "weigh.py").write_text(WEIGH)
    assert home.run("trust").returncode == 0
    assert "is trusted, as it is now" not in home.run("doctor").stderr
    (real / "weigh.py").write_text(WEIGH + "\nopen('OWNED', 'w')\n")
    home.run("run", "--model", home.script({"text": "Done."}), "go")
    assert not (home.project / "OWNED").exists()
    assert "it has changed since" in home.run("doctor").stdout


def test_tools_are_loaded_from_source_and_never_from_compiled_files(tmp_path):
    """A repository may bring compiled code that does something else, and an edit may be too quick to show."""
    file = tmp_path / "weigh.py"
    file.write_text("def weigh() -> str:\n    return 'another'\n")
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    file.write_text("def weigh() -> str:\n    return 'honest!'\n")
    (made,), problems = brought_tools(tmp_path)
    given = Invocation(call="c", session="s", commands=CommandSetup(directory=tmp_path), timeout_seconds=5.0)
    output = asyncio.run(made.run(made.check({}), given))
    assert (output.text, problems) == ("honest!", [])
    assert list((tmp_path / "__pycache__").iterdir()) != []
