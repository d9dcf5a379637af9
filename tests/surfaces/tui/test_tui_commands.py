"""Slash commands of the terminal application, completion, prompts that wait, and dialogs."""

import pytest
from support.tui_app import seated, told
from textual import events
from textual.widgets._toast import Toast

from bridle import ConfigError, Runtime, RuntimeConfig, ScriptedModel, Settings, call
from bridle.config.settings import CommandSettings, ModelSettings
from bridle.core.agent import AgentDefinition
from bridle.core.parts import Prompt
from bridle.surfaces.tui.asks import Confirm
from bridle.surfaces.tui.commands import OURS, CommandTable
from bridle.surfaces.tui.completion import Completions
from bridle.surfaces.tui.dialogs import DialogText, Picker, TypedLine
from bridle.surfaces.tui.host import PlainHost, StartChoices
from bridle.testing.scripted import Reply, ScriptedError
from bridle.values.keys import KeySettings


def prompts(seat):
    return [part for part in seat.chat.transcript.session.parts.values() if isinstance(part, Prompt)]


async def dialog(seat, kind):
    await seat.until(lambda: isinstance(seat.app.screen, kind))
    return seat.app.screen


async def toast(seat, words):
    await seat.until(lambda: any(words in each.message for each in seat.app._notifications))


def test_every_command_has_an_action_and_every_key_one_that_exists():
    from bridle.surfaces.tui.app import KEYED, BridleApp
    from bridle.surfaces.tui.keys import IN_EDITOR, IN_LISTS

    assert [row.name for row in OURS if not callable(getattr(BridleApp, f"action_{row.name}", None))] == []
    names = [name for row in OURS for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))
    assert set(KeySettings.__struct_fields__) <= {*KEYED, *IN_EDITOR, *IN_LISTS}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/undo", ("undo", "")),
        ("/quit", ("exit", "")),
        ("/rename A new title", ("rename", "A new title")),
        ("/greet you", ("greet", "you")),
        ("/etc/hosts is odd", None),
        ("/server:prompt a=b", None),
        ("no /undo", None),
    ],
)
def test_a_text_is_a_command_or_a_prompt(text, wanted):
    table = CommandTable()
    table.learn(["greet", "exit"])
    found = table.typed(text)
    assert (found and (found[0].name, found[1])) == wanted
    assert (found is None or found[0].ours) == (wanted is None or wanted[0] != "greet")


def test_an_unknown_command_is_an_error_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"there is no command /sesions; did you mean /sessions\?"):
        CommandTable().typed("/sesions")


def test_commands_are_found_by_some_letters_and_run_with_enter(tmp_path):
    async def story():
        async with seated(tmp_path, "one", commands={"greet": CommandSettings("Greet $1.")}) as seat:
            for typed, kind in (("/hlp", DialogText), ("/ssn", Picker), ("/mdl", Picker), ("/stat", DialogText)):
                await seat.type(typed)
                await seat.until(lambda: seat.app.screen.query_one(Completions).display)
                await seat.pilot.press("enter")
                await dialog(seat, kind)
                await seat.pilot.press("escape")
                await seat.until(lambda: seat.app.screen is seat.chat)
                assert seat.chat.editor.text == ""
            await seat.type("/gr")
            await seat.until(lambda: seat.app.screen.query_one(Completions).display)
            await seat.pilot.press("enter")
            assert seat.chat.editor.text == "/greet "
            await seat.ask("Ada")
            await seat.ended()
            assert [part.text for part in prompts(seat)] == ["Greet Ada."]

    told(story)


def test_files_and_folders_are_completed_and_attached(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.py").write_text("print()\n")

    async def story():
        async with seated(tmp_path, "one") as seat:
            for typed in ("see @mainpy"[:9], "and @sour"):
                await seat.type(typed)
                await seat.until(lambda: seat.app.screen.query_one(Completions).display)
                await seat.pilot.press("enter")
            assert seat.chat.editor.text == "see @source/main.py and @source/ "
            await seat.pilot.press("enter")
            await seat.ended()
            (prompt,) = prompts(seat)
            assert [(file.path, file.text) for file in prompt.files] == [
                ("source/main.py", "print()\n"),
                ("source/", "main.py"),
            ]

    told(story)


def test_a_list_for_an_earlier_word_completes_nothing(tmp_path):
    """Keys that come faster than the list follows, as from a paste or over a slow line."""

    async def story():
        async with seated(tmp_path, "one") as seat:
            await seat.ask()
            await seat.ended()
            await seat.type("/re")
            await seat.until(lambda: seat.chat.query_one(Completions).display)
            seat.post("name Mended by me")
            seat.app.post_message(events.Key("enter", "\r"))
            await seat.until(lambda: seat.chat.editor.text == "")
            await seat.until(lambda: seat.read().startswith(" Mended by me "))

    told(story)


@pytest.mark.parametrize("size", [(80, 24), (140, 44)])
def test_a_notification_does_not_cover_what_is_typed(tmp_path, size):
    async def story():
        async with seated(tmp_path, toasts=True, size=size) as seat:
            seat.app.notify("there is no key for it: " * 6)
            await seat.until(lambda: seat.app.screen.query(Toast))
            await seat.until(lambda: seat.app.screen.query_one(Toast).region.height)
            assert not seat.app.screen.query_one(Toast).region.overlaps(seat.chat.editor.region)

    told(story)


def test_a_refused_key_shows_a_card_with_the_command_that_helps(tmp_path):
    async def story():
        refused = Reply(error=ScriptedError("HTTP 401: no such key", status=401))
        model = ScriptedModel([refused, "Hello."], ref="openai/gpt")
        choices = StartChoices(model="openai/gpt")
        async with seated(tmp_path, brought={"openai/gpt": model}, choices=choices, size=(80, 24)) as seat:
            await seat.ask()
            await seat.ended()
            shown = " ".join(seat.read().replace("┃", "").split())
            assert "HTTP 401: no such key (its key is missing or wrong: bridle auth login openai)" in shown
            await seat.pilot.click("#login")
            await toast(seat, "bridle auth login openai")
            await seat.pilot.press("ctrl+t")
            await seat.ended(2)
            assert len(seat.chat.transcript.query("#login")) == 1 and "Hello." in seat.read()

    told(story)


def test_a_prompt_that_waits_is_shown_edited_withdrawn_and_queued(tmp_path):
    async def story():
        async with seated(tmp_path, call("slow", key="a"), "never", "later") as seat:
            await seat.ask()
            await seat.until(lambda: any(view.has_class("running") for view in seat.chat.transcript.calls()))
            await seat.ask("faster")
            await seat.until(lambda: "steering: faster" in seat.read())
            await seat.pilot.press("up")
            await seat.until(lambda: seat.chat.editor.text == "faster" and "steering" not in seat.read())
            await seat.pilot.press("ctrl+x", "enter")
            await seat.until(lambda: "queued: faster" in seat.read())
            await seat.ask("/waiting now")
            await dialog(seat, Picker)
            await seat.pilot.press("ctrl+d")
            await seat.until(lambda: "queued" not in seat.read())
            assert await seat.runtime.pending_prompts("ses_one") == []
            await seat.pilot.press("escape")
            await seat.ended()
            assert [part.text for part in prompts(seat)] == ["go"]

    told(story)


def test_sessions_are_renamed_pinned_forked_and_deleted_in_their_dialog(tmp_path):
    async def story():
        async with seated(tmp_path, "one") as seat:
            await seat.ask("first words")
            await seat.ended()
            await seat.pilot.press("f2")
            picker = await dialog(seat, Picker)
            await seat.until(lambda: "> first words" in seat.read() and "answered" in seat.read())
            await seat.pilot.press("ctrl+t")
            await seat.until(lambda: seat.app.screen is not picker and isinstance(seat.app.screen, Picker))
            assert (await seat.runtime.load("ses_one")).info.pinned
            await seat.pilot.press("ctrl+r")
            await dialog(seat, TypedLine)
            await seat.type("A name")
            await seat.pilot.press("enter")
            await seat.until(lambda: isinstance(seat.app.screen, Picker) and "A name" in seat.read())
            await seat.pilot.press("ctrl+d")
            confirm = await dialog(seat, Confirm)
            await seat.until(lambda: confirm.ready)
            await seat.pilot.press("enter")
            await toast(seat, "deleted: 1 session")
            await seat.until(lambda: not seat.chat.begun)
            assert await seat.runtime.sessions() == []

    told(story)


def test_a_session_of_another_project_is_opened_there(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()

    async def story():
        async with seated(here, "one", journal=None) as seat:
            await seat.ask("in the first")
            await seat.ended()
            other = Runtime(
                RuntimeConfig(
                    models={"m": ScriptedModel(["From there."])},
                    settings=Settings(agent="build"),
                    agents=[AgentDefinition("build", model="m")],
                    directory=there,
                    journal=seat.runtime.journal,
                )
            )
            async with other:
                session = await other.create("ses_other")
                await other.wait(session, await other.prompt(session, "over there"))

                class Host(PlainHost):
                    async def backend(self, directory):
                        assert directory == str(there)
                        return other

                seat.app.host = Host()
                await seat.pilot.press("f2")
                await dialog(seat, Picker)
                assert f"in {there}"[:20] in seat.read() or "there" in seat.read()
                await seat.type("over there")
                await seat.pilot.press("enter")
                await toast(seat, "you now work in another project")
                await seat.until(lambda: seat.chat.id_of_session == "ses_other")
                assert seat.app.runtime is other and seat.chat.runtime is other
                await seat.app.action_new()

    told(story)


def test_models_are_favorites_and_recent_and_their_choice_is_kept(tmp_path):
    host = PlainHost(folder=tmp_path / "kept")

    async def story():
        async with seated(tmp_path, "one", models={"a/x": ModelSettings(), "a/y": ModelSettings()}, host=host) as seat:
            await seat.app.perform("models", "a/y")
            assert seat.chat.model == "a/y"
            seat.app.kept.toggle("a/x")
        async with seated(
            tmp_path, "one", session="ses_two", models={"a/x": ModelSettings(), "a/y": ModelSettings()}, host=host
        ) as seat:
            assert (seat.app.kept.models.favorites, seat.app.kept.models.recent) == (("a/x",), ("a/y",))
            await seat.pilot.press("f3")
            await dialog(seat, Picker)
            rows = [row for row in seat.read().splitlines() if "a/" in row]
            assert "★ a/x" in rows[0] and "• a/y" in rows[1]

    told(story)


def test_limits_cost_and_commands_without_a_session_say_what_there_is(tmp_path):
    async def story():
        async with seated(tmp_path, call("slow", key="a"), "never", steps=4) as seat:
            await seat.app.perform("new")
            for name in ("undo", "fork", "rename", "delete", "export", "report", "diff", "timeline", "asks"):
                await seat.app.perform(name)
            await toast(seat, "there is no session yet: it begins with the first prompt")
            assert len({each.message for each in seat.app._notifications}) == 1
            await seat.ask()
            await seat.until(lambda: any(view.has_class("running") for view in seat.chat.transcript.calls()))
            await seat.app.perform("limits")
            await dialog(seat, Picker)
            assert "1/4" in seat.read()
            await seat.pilot.press("enter")
            await toast(seat, "steps raised by 5")
            await seat.pilot.press("ctrl+c")
            await seat.ended()
            await seat.app.perform("cost")
            await dialog(seat, DialogText)
            await seat.until(lambda: "session     1 turn " in seat.read())

    told(story)
