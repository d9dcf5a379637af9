"""One story in Bridle's terminal application: everything that a person does with it, in one process.

It is that of `opencode_story`, which OpenCode's own application tells.
"""

from pathlib import Path
from typing import Any

from support.cli_home import Home, calls, settings
from support.tmux_terminal import Terminal

LONG = " ".join(f"sentence {number}." for number in range(900))
SCRIPT: list[Any] = [
    {"text": "You said **hello there**.", "pace": 0.01, "chunk": 4},
    calls(("read", {"filePath": "lines.txt"})),
    calls(("edit", {"filePath": "lines.txt", "oldString": "line 4", "newString": "line four"})),
    {"text": "The lines are edited."},
    calls(("bash", {"command": "touch made-by-bash"})),
    {"text": "Then I use python."},
    calls(
        ("question", {"questions": [{"question": "Which color?", "options": [{"label": "Red"}, {"label": "Blue"}]}]})
    ),
    {"text": "Red it is."},
    {"text": "word " * 400, "chunk": 5, "pace": 0.05},
    calls(("write", {"filePath": "notes.txt", "content": "one\ntwo\n"})),
    {"text": "Notes are written."},
    calls(("todowrite", {"todos": [{"content": "Look again", "status": "in_progress"}]})),
    {"text": "Noted."},
    calls(("task", {"description": "a piece", "prompt": "look into it", "subagent_type": "scout"})),
    {"text": "The scout is back."},
    {"text": "Dear Ann, hello."},
    {"text": LONG},
    {"text": "A short summary of it all."},
]
SETTINGS = """\
model = "{main}"
[permission]
edit = "ask"
bash = "ask"
[agents.scout]
mode = "subagent"
description = "Looks."
model = "{scout}"
[commands.greet]
template = "Greet $1 kindly."
[models."{other}"]
"""


def set_up(home: Home) -> None:
    """Write the files and the settings of the story."""
    (home.project / "lines.txt").write_text("".join(f"line {number}\n" for number in range(9)))
    scout = home.script({"text": "Found by the scout."}, name="scout.json")
    other = home.script({"text": "The other model answers."}, name="other.json")
    settings(home, SETTINGS.format(main=home.script(*SCRIPT), scout=scout, other=other))


def tell_story(one: Terminal, home: Home) -> None:
    """Tell the story from the first prompt to a deleted session."""
    one.until("shows all keys", "f1 Help")
    one.say("hello there")
    one.until("You said hello there.", "answered · 1 step", "idle")
    assert one.title() == "bridle: idle"
    _approved_and_rejected(one, home.project)
    assert "use python instead" in home.run("show").stdout, "the model reads why"
    _undone_and_stopped(one, home.project)
    _below_and_beside(one)
    _switched(one)
    _named_forked_and_deleted(one, home)


def _approved_and_rejected(one: Terminal, project: Path) -> None:
    one.say("edit the lines")
    one.until("Allow edit: lines.txt?", "line 4", "line four", "+1 -1", "Once")
    assert "line four" not in (project / "lines.txt").read_text()
    assert one.title().startswith("bridle: paused")
    one.until("enter answers")
    one.press("Enter")
    one.until("The lines are edited.")
    assert "line four" in (project / "lines.txt").read_text()
    one.say("run the shell")
    one.until("Allow bash: touch made-by-bash?", "$ touch made-by-bash", "enter answers")
    _say_why_not(one, "use python instead")
    one.until("⊘ touch made-by-bash", "rejected", "Then I use python.", "idle")
    assert not (project / "made-by-bash").exists()
    one.say("a question please")
    one.until("Which color?", "or your own words", "enter answers")
    one.press("Enter")
    one.until("● Red", "○ Blue", "Red it is.")


def _say_why_not(one: Terminal, words: str) -> None:
    """Type a reason into the field below the buttons, once its first letter shows the cursor."""
    one.press("Tab", "Tab", "Tab")
    one.until("hy not: the model", gone="why not: the model", styled=True)
    one.press(words)
    one.until(words, gone="why not: the model")
    one.press("Enter")


def _undone_and_stopped(one: Terminal, project: Path) -> None:
    written = project / "notes.txt"
    one.say("be slow")
    one.until("word word word", "esc stops")
    one.press("Escape")
    one.until("aborted", "idle")
    one.say("please write")
    one.until("Allow edit: notes.txt?", "new", "enter answers")
    one.press("Enter")
    one.until("Write notes.txt", "Notes are written.", "idle")
    one.press("F8")
    one.until("undone: turn", "│ please write")
    assert not written.exists(), "an undo restores files"
    one.press("C-c")
    one.until("the draft was cleared")
    one.press("F9")
    one.until("redone: turn", "Notes are written.")
    assert written.read_text() == "one\ntwo\n", "a redo brings them back"


def _below_and_beside(one: Terminal) -> None:
    one.say("todo")
    one.until("[•] Look again", "Noted.", "idle")
    one.press("C-x", "d")
    one.until("Files changed by this session", "lines.txt", "line four")
    one.press("Escape")
    one.until("Noted.", gone="Files changed by")
    one.say("task")
    one.until("scout a piece", "The scout is back.", "idle")
    one.press("F6")
    one.until("│ Subagents", "✓ scout  a piece  step 1/")
    one.press("Enter")
    one.until("Subagent scout: look into it", "Found by the scout.")
    one.press("Escape")
    one.until("The scout is back.", gone="Subagent scout")
    one.press("!")
    one.until("a shell command")
    one.say("echo by $((40 + 2)) hand")
    one.until("by 42 hand", "idle")
    one.say("/greet Ann")
    one.until("Dear Ann, hello.", "idle")
    one.say("a long answer")
    one.until("sentence 890.", "idle")
    one.say("/compact")
    one.until("Context compacted")


def _switched(one: Terminal) -> None:
    one.press("Tab")
    one.until("plan ·")
    one.press("C-x", "m")
    one.until("Models", "type to search")
    one.press("other.json", "Enter")
    one.until("other.json · ~", gone="type to search")
    one.say("hello again")
    one.until("The other model answers.", "idle")


def _named_forked_and_deleted(one: Terminal, home: Home) -> None:
    one.say("/rename Renamed by me")
    one.until(" Renamed by me\n")
    (first,) = (line.split()[0] for line in home.run("sessions").stdout.splitlines())
    one.say("/fork")
    one.until("you are now in the new session")
    assert len(home.run("sessions").stdout.splitlines()) == 2
    one.say("/delete")
    one.until("Yes", "enter answers")
    one.press("Enter")
    # "in the new session" may still be shown.
    one.until(" new session\n", gone="in the new session")
    listed = home.run("sessions")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [first], (listed, one.read())
    one.press("C-c")
    one.gone()
