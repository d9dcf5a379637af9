"""OpenCode's own clients against Bridle: the terminal application, `run`, the SDKs; also while Bridle is killed."""

import asyncio

import pytest
from support.cli_home import calls, settings
from support.opencode_clients import Clients, run_attach, sdk
from support.opencode_packages import installed
from support.opencode_schema import Published
from support.opencode_server import ASKS, scripted_runtime, served, told_by_words, with_snapshots
from support.opencode_story import tell_story
from support.opencode_tui import terminal


@pytest.fixture(scope="session")
def packages():
    return installed()


def story(folder, packages, work):
    """Tell a story to a server with a scripted model; all that it answers fits the published schema."""
    home, project = folder / "home", folder / "project"
    home.mkdir()
    project.mkdir()
    answers = []

    async def tell():
        runtime = scripted_runtime(
            project, told_by_words, rules=ASKS, journal=home / "journal.db", user=with_snapshots(home)
        )
        async with runtime, served(runtime, answers=answers) as address:
            await work(Clients(packages, home, project, address))

    asyncio.run(asyncio.wait_for(tell(), 300))
    published = Published(packages.published())
    assert len(answers) > 10
    assert [fault for answer in answers for fault in published.faults(answer)] == []


def test_the_terminal_application_does_all_that_a_person_does_with_it(tmp_path, packages):
    async def work(clients):
        async with terminal(packages, clients.home / "tui", clients.address) as one:
            await tell_story(one, clients.project, clients.address)

    story(tmp_path, packages, work)


@pytest.mark.parametrize("program", [sdk, run_attach], ids=["sdk", "run"])
def test_the_sdks_and_run_work(program, tmp_path, packages):
    story(tmp_path, packages, program)


WORDS = {"text": "word " * 400, "chunk": 5, "pace": 0.05}
ASKING = {"text": "Let me look.", **calls(("bash", {"command": "echo hello", "description": "Say hello"}))}


def test_a_killed_server_comes_back_and_the_terminal_application_goes_on(served, packages):
    """In mid-answer, and with a permission open; then a second terminal joins, and both agree."""
    model = served.home.script(WORDS, then=WORDS)
    settings(served.home, f'model = "{model}"\n[permission]\nbash = "ask"\n')

    async def work():
        server = served.serve()
        port = ("--port", str(server.port))
        given = (server.url, "-p", served.token)
        async with terminal(packages, served.folder / "tui", *given) as one:
            await one.until("Ask anything")
            await one.say("Go on")
            await one.until("word word word")
            server.kill()
            served.home.script(then="Whole after the restart.")
            server = served.serve(*port)
            await one.until("Whole after the restart.", gone="esc interrupt")
            server.stop()
            served.home.script(then=ASKING)
            server = served.serve(*port)
            await one.say("Have a look")
            await one.until("Permission required", "Let me look.")
            server.kill()
            served.home.script(then="Done after the ask.")
            server = served.serve(*port)
            with served.client(server) as client:
                (session,) = [row["id"] for row in client.get("/session").json()]
            async with terminal(packages, served.folder / "second", *given, "-s", session) as other:
                await other.until("Permission required", "echo hello")
                await other.keys("Enter")
                await other.until("Done after the ask.", gone="esc interrupt")
            shown = await one.until("Done after the ask.", gone="esc interrupt")
            assert "Permission required" not in shown

    asyncio.run(asyncio.wait_for(work(), 300))
