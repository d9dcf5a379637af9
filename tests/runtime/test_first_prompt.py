"""A session is made with its first prompt, and those that have none are passed over."""

import asyncio
import re

from support.cli_home import calls
from support.tui_app import look, told

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.core.agent import AgentDefinition
from bridle.surfaces.tui.app import BridleApp


def listed(home, *words):
    return re.findall(r"ses_\w+", home.run("sessions", *words).stdout)


def leave_an_empty_session(home):
    """What earlier versions left when somebody only looked."""

    async def create():
        async with Runtime.open(home.project, environment=home.environment) as runtime:
            return await runtime.create()

    return asyncio.run(create())


def asked(home, *words):
    done = home.run("run", *words)
    assert done.returncode == 0, done.stderr
    return re.search(r"session (ses_\w+)", done.stderr)[1]


def test_a_run_that_fails_before_its_prompt_is_recorded_leaves_no_session(home):
    assert home.run("run", "--model", "nope/x", "go").returncode == 2
    assert home.run("run", "--agent", "nobody", "--model", home.script({"text": "Hi."}), "go").returncode == 2
    assert listed(home, "--all") == []
    first = asked(home, "--model", home.script({"text": "Hi."}), "go")
    assert home.run("run", "--continue", "--fork", "--model", "nope/x", "go").returncode == 2
    assert listed(home, "--all") == [first]


def test_continue_takes_the_last_session_that_has_a_prompt(home):
    model = home.script({"text": "One."}, {"text": "Two."}, then="last")
    first = asked(home, "--model", model, "first")
    empty = leave_an_empty_session(home)
    assert asked(home, "--model", model, "--continue", "second") == first
    assert listed(home) == [first] and sorted(listed(home, "--all")) == sorted([first, empty])


def test_undo_diff_and_report_take_the_last_session_that_has_a_prompt(home):
    written = calls(("write", {"filePath": str(home.project / "a.txt"), "content": "hi\n"}))
    first = asked(home, "--model", home.script(written, {"text": "Done."}), "write it")
    empty = leave_an_empty_session(home)
    home.run("sessions", "rename", empty, "Nothing in here")
    assert "+hi" in home.run("diff").stdout
    assert home.run("report").returncode == 0
    assert first in (home.project / "report.html").read_text()
    undone = home.run("undo")
    assert first in undone.stdout and not (home.project / "a.txt").exists(), undone.stderr
    assert first in home.run("redo").stdout and (home.project / "a.txt").exists()


def test_opening_and_closing_the_application_makes_no_session(tmp_path):
    async def story():
        model = ScriptedModel(["Hello."])
        runtime = Runtime(
            RuntimeConfig(
                models={"m": model}, agents=[AgentDefinition("build", model="m")], tools=[look], directory=tmp_path
            )
        )
        async with runtime:
            app = BridleApp(runtime, None)
            async with app.run_test() as pilot:
                for key in (
                    "f8",
                    "f9",
                    "f5",
                    "ctrl+t",
                    "ctrl+o",
                    "ctrl+r",
                    "f6",
                    "escape",
                    "f7",
                    "escape",
                    "f2",
                    "escape",
                ):
                    await pilot.press(key)
                await app.action_compact()
                await app.action_fork()
                await app.action_diff()
                await app.chat.fresh()
                await pilot.press("ctrl+c")
            assert await runtime.sessions() == []

    told(story)


def test_the_application_makes_its_session_with_the_first_prompt_that_is_taken(tmp_path):
    async def story():
        model = ScriptedModel(["Hello.", "Again."])
        runtime = Runtime(
            RuntimeConfig(
                models={"m": model}, agents=[AgentDefinition("build", model="m")], tools=[look], directory=tmp_path
            )
        )
        async with runtime:
            app = BridleApp(runtime, None)
            async with app.run_test() as pilot:
                app.chat.model = "nope/x"
                await pilot.press("g", "o", "enter")
                while app.chat.editor.text != "go":
                    await pilot.pause(0.02)
                assert await runtime.sessions() == []
                app.chat.model = None
                await pilot.press("enter")
                while not app.chat.query(".end"):
                    await pilot.pause(0.02)
                await app.chat.fresh()
                assert not app.chat.query(".end")
                await pilot.press("m", "o", "r", "e", "enter")
                while not app.chat.query(".end"):
                    await pilot.pause(0.02)
            prompts = [part.text for row in await runtime.sessions() for part in await prompts_of(runtime, row)]
            assert sorted(prompts) == ["go", "more"]

    told(story)


async def prompts_of(runtime, row):
    return [part for part in (await runtime.load(row.info.id)).parts.values() if type(part).__name__ == "Prompt"]
