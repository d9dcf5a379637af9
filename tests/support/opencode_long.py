"""The long form of the clients' programs: with clients in Python, `attach --mini`, and OpenCode's page in a browser."""

from __future__ import annotations

import asyncio
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path

from support.opencode_clients import DATA, Clients, run_attach, sdk
from support.opencode_packages import installed, own_server
from support.opencode_page import browser, proxied
from support.opencode_schema import Answer, Published
from support.opencode_server import ASKS, scripted_runtime, served, told_by_words, with_snapshots
from support.opencode_story import tell_story
from support.opencode_tui import terminal

Program = Callable[[Clients], Awaitable[None]]


async def in_terminal(clients: Clients) -> None:
    """`opencode attach` in tmux: one story with everything that a person does there."""
    async with terminal(clients.packages, clients.home / "tui", clients.address) as one:
        await tell_story(one, clients.project, clients.address)


async def mini(clients: Clients) -> None:
    """`opencode attach --mini`: an answer, an allowed command, a question."""
    async with terminal(clients.packages, clients.home / "mini", clients.address, "--mini") as one:
        await one.until("Ask anything")
        await one.say("hello there")
        await one.until("You said: hello there", "the answer")
        await one.say("run the shell")
        await one.until("Permission required")
        await one.keys("Enter")
        await one.until("All done after the tool.")
        await one.say("a question please")
        await one.until("Which color?")
        await one.keys("Enter")
        await one.until("Red", gone="Type your own answer")


async def python(clients: Clients) -> None:
    """The clients in Python: opencode-ai, opencode-py and opencode-agent-sdk."""
    found = installed(python=True)
    told = await clients.run(found.python, DATA / "python_clients.py", clients.address)
    assert "3 clients in Python work" in told


async def page(clients: Clients) -> None:
    """OpenCode's page in Chromium, through a proxy: an answer, an allowed command, a question."""
    shown = urlsafe_b64encode(str(clients.project).encode()).decode().rstrip("=")
    with own_server(clients.packages, clients.home / "own", clients.project) as own:
        async with proxied(clients.address, own) as address, browser(f"{address}/{shown}/session") as one:

            async def say(text: str) -> None:
                await one.locator('[contenteditable="true"]').first.click()
                await one.keyboard.type(text)
                await one.keyboard.press("Enter")

            # Without a chosen model, the page keeps a prompt in its editor.
            await one.get_by_text("m", exact=True).first.wait_for()
            await say("hello there")
            await one.get_by_text("You said: hello there").first.wait_for()
            await say("run the shell")
            await one.get_by_text("Allow once").first.click()
            await one.get_by_text("All done after the tool.").first.wait_for()
            await say("a question please")
            await one.get_by_text("Blue").first.click()
            await one.get_by_text("Submit").first.click()
            await one.get_by_text("1 answered").first.wait_for()


PROGRAMS: dict[str, Program] = {
    "sdk": sdk,
    "run": run_attach,
    "tui": in_terminal,
    "mini": mini,
    "python": python,
    "page": page,
}


async def tried(program: Program) -> tuple[int, list[str]]:
    """Run a program against a new server; return how many answers it got, and their differences from the schema."""
    packages, answers = installed(), list[Answer]()
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        project.mkdir()
        user = with_snapshots(home)
        runtime = scripted_runtime(project, told_by_words, rules=ASKS, journal=home / "journal.db", user=user)
        async with runtime, served(runtime, answers=answers) as address:
            await program(Clients(packages, home, project, address))
    published = await asyncio.to_thread(lambda: Published(packages.published()))
    return len(answers), [fault for answer in answers for fault in published.faults(answer)]
