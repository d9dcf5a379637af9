"""Commands that are templates with a name, and the files that a prompt or a template names."""

import json

import pytest
from support.agent_project import home_of_repository, write


@pytest.fixture
def home(tmp_path):
    return home_of_repository(tmp_path)


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
    known = "(known: /fix/issue, /greet, /init, /log, /look, /memory, /review)"
    for typed, words in (("/gret Ann", "did you mean /greet?"), ("/help", known)):
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
    assert "does not accept image files" in image.stderr
    assert sent_files(home, given="see @note.txt") == note
    # Names of no file stay text, and data that is piped in beside words names nothing.
    assert sent_files(home, "ask me@note.txt, @nobody and `@note.txt`", given="+ see @note.txt") == {}
    assert sent_files(home, "look through @src") == {"src": "a (copy).py"}


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
