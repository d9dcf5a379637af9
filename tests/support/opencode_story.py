"""One story in OpenCode's terminal application: everything that a person does with it, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2

from support.opencode_server import LINES
from support.opencode_tui import TerminalClient

END = "All done after the tool."


async def tell_story(one: TerminalClient, project: Path, address: str) -> None:
    """Tell the story from the first prompt to a deleted session; the server answers as `told_by_words`."""
    (project / "lines.txt").write_text(LINES)
    await one.until("Ask anything")
    await one.say("hello there")
    await one.until("Thought", "You said: hello there", "the answer")
    await _approved_and_rejected(one, project, address)
    await _undone_and_stopped(one, project)
    await _below_and_beside(one)
    await _named_forked_and_deleted(one, address)


async def _approved_and_rejected(one: TerminalClient, project: Path, address: str) -> None:
    await one.say("edit the lines")
    await one.until("Permission required", "Edit lines.txt", "- line 4", "+ line four")
    await one.keys("Enter")
    await one.until("Modified Files", "+1 -1", gone="Permission required")
    assert "line four" in (project / "lines.txt").read_text()
    await one.say("run the shell")
    await one.until("Permission required", "echo hello; date")
    await one.keys("Right", "Right", "Enter")
    await one.until("not executed: a person rejected it", gone="Permission required")
    # Only for subagents, OpenCode asks what is wanted instead.
    await one.say("delegate it")
    await one.until("Permission required", "echo hello; date")
    await one.keys("Right", "Right", "Enter")
    await one.until("Reject permission")
    await one.type("use python instead")
    await one.keys("Enter")
    await one.until("Scout Task", END, gone="Reject permission")
    await one.keys("C-x", "Down")
    await one.until("The person wants: use python instead", "Subagent (1 of 1)")
    await one.keys("Up")
    await one.until("Scout Task", gone="Subagent (1 of 1)")
    await one.say("a question please")
    await one.until("Which color?", "Type your own answer")
    await one.keys("Enter")
    await one.until("# Questions", "Red", gone="Type your own answer")


async def _undone_and_stopped(one: TerminalClient, project: Path) -> None:
    written = project / "notes.txt"
    await one.say("please write")
    await one.until("Wrote notes.txt", END)
    await one.until("notes.txt", "+2", gone="esc interrupt")
    await one.keys("C-x", "u")
    await one.until("1 message reverted")
    assert not written.exists(), "an undo restores files"
    await one.keys("C-x", "r")
    await one.until("Wrote notes.txt", gone="1 message reverted")
    assert written.exists(), "a redo brings them back"
    await one.keys("C-u")
    await one.say("be slow")
    await one.until("word word word")
    await one.interrupt()
    await one.until("interrupted", gone="esc interrupt")


async def _below_and_beside(one: TerminalClient) -> None:
    await one.say("todo")
    await one.until("Todo", "[•] Look")
    await one.say("task")
    await one.until("Scout Task", "a piece", gone="esc interrupt")
    await one.keys("C-x", "Down")
    await one.until("Subagent (1 of 2)")
    await one.keys("Right")
    await one.until("Found by the scout.", "Subagent (2 of 2)")
    await one.keys("Up")
    await one.until("Scout Task", gone="Subagent (")
    await one.keys("!")
    await one.until("exit shell mode")
    await one.say("echo by $((40 + 2)) hand")
    await one.until("$ echo by", "by 42 hand", gone="esc interrupt")
    await one.say("/greet Ann")
    await one.until("You said: Greet Ann kindly.", gone="esc interrupt")
    await one.say("a long answer")
    await one.until("sentence 300", gone="esc interrupt")
    await one.say("/compact")
    await one.until("Compaction", END, gone="esc interrupt")


async def _named_forked_and_deleted(one: TerminalClient, address: str) -> None:
    await one.keys("Tab")
    await one.until("Plan · m")
    await one.keys("C-x", "m")
    await one.until("Select model")
    await one.type("s")
    await one.keys("Enter")
    await one.until("Plan · s", gone="Select model")
    await one.say("hello again")
    await one.until("Found by the scout.", gone="esc interrupt")
    await one.say("/rename")
    await one.until("Rename Session")
    await one.keys("C-u")
    await one.type("Renamed by me")
    await one.keys("Enter")
    await one.until("Renamed by me", gone="Rename Session")
    await one.say("/fork")
    await one.until("Fork session", "Full session")
    await one.keys("Enter")
    await one.until("Renamed by me", gone="Fork session")
    async with httpx2.AsyncClient(base_url=address) as http:
        assert len((await http.get("/session?roots=true")).json()) == 2
        await one.keys("C-x", "l")
        await one.until("Sessions", "delete ctrl+d")
        await one.keys("C-d")
        await one.until("Press ctrl+d again to confirm")
        await one.keys("C-d")
        await one.until("Sessions", gone="Press ctrl+d again to confirm")
        left: list[Any] = (await http.get("/session?roots=true")).json()
        assert [each["title"] for each in left] == ["Renamed by me"]
