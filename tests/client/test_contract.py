"""`Sessions` and `Project` keep their contracts in this process and over HTTP, with the same stories."""

import asyncio
from contextlib import aclosing

import msgspec
import pytest
from support.cli_home import calls

from bridle import AccessRefused, ConfigError, NoSuchSession
from bridle.core.events import Entry, PartDelta
from bridle.core.fold import fold
from bridle.core.inbox import TurnOptions
from bridle.core.messages import AssistantMessage, AssistantText, UserMessage
from bridle.core.parts import Extension, File, Notice
from bridle.core.result import result_of
from bridle.core.session import Session
from bridle.core.status import Status
from bridle.errors import AlreadyAnswered, LeaseLost
from bridle.runtime.sessions import SessionQuery

BASH = ("bash", {"command": "echo one > made.txt", "description": "Write"})
PAGE = "# A page\n"


def options(model, on_ask="pause", **more):
    return TurnOptions(model=model, on_ask=on_ask, **more)


async def answered(sessions, model, text="Hi!", session=None, **more):
    """Prompt a session, by default a new one, and return it with the result."""
    session = session or await sessions.create()
    prompt = await sessions.prompt(session, text, options=options(model, **more))
    return session, await sessions.wait(session, prompt)


def test_a_prompt_is_answered_recorded_and_never_doubled(told):
    async def story(sessions, home):
        model = home.home.script("Hello there.")
        session = await sessions.create()
        prompt = await sessions.prompt(session, "Hi!", id="p1", options=options(model), metadata={"a": [1]})
        result = await sessions.wait(session, prompt)
        assert (prompt, result.reason, result.text, result.session) == ("p1", "answered", "Hello there.", session)
        assert await sessions.prompt(session, "Hi!", id="p1", options=options(model)) == "p1"
        with pytest.raises(ConfigError, match="was used for another prompt"):
            await sessions.prompt(session, "Other", id="p1", options=options(model))
        state, entries = await sessions.load(session), await sessions.entries(session)
        assert result_of(state, "p1") == result
        again = Session()
        for entry in entries:
            fold(again, entry)
        assert (again.sequence, again.parts) == (state.sequence, state.parts)
        assert await sessions.status(session) == Status("idle")
        assert await sessions.tree_entries(session) == {session: entries}
        assert (await sessions.root(session), await sessions.tree_account(state)) == (session, None)
        assert (await sessions.subagents(state, {}), await sessions.worker_notice(session)) == ((), "")
        assert not await sessions.is_driven("ses_unknown")

    told(story)


def test_a_session_is_followed_entry_by_entry_and_to_the_end_of_a_prompt(told):
    async def story(sessions, home):
        model = home.home.script("One two three four.", name="stream.json")
        session = await sessions.create()
        prompt = await sessions.prompt(session, "Go", options=options(model))
        async with aclosing(sessions.stream(session, prompt)) as stream:
            seen = [event async for event in stream]
        entries = [event for event in seen if isinstance(event, Entry)]
        assert entries == await sessions.entries(session)
        assert {type(event) for event in seen} <= {Entry, PartDelta}
        async with aclosing(sessions.follow(session, entries[2].sequence)) as following:
            assert [await anext(following) for _ in entries[3:]] == entries[3:]
        ended = asyncio.get_running_loop().create_future()
        ended.set_result(None)
        assert [event async for event in sessions.follow(session, 1, until=ended)] == entries[1:]

    told(story)


def test_an_ask_pauses_and_the_first_answer_holds(told):
    async def story(sessions, home):
        model = home.home.script(calls(BASH), "Done.", name="ask.json")
        session, result = await answered(sessions, model)
        (ask,) = result.asks
        assert (result.reason, (await sessions.status(session)).state) == ("paused", "paused")
        with pytest.raises(ConfigError):
            await sessions.answer(session, ask.id, "perhaps")
        await sessions.answer(session, ask.id, "once", arguments={"command": "echo two > made.txt"})
        await sessions.parked(session)
        assert (home.project / "made.txt").read_text() == "two\n"
        try:
            await sessions.answer(session, ask.id, "reject")
        except AlreadyAnswered as error:
            assert "once" in str(error)
        state = await sessions.load(session)
        assert result_of(state, state.turn.prompts[0]).text == "Done."
        await sessions.supply(session, "no such call", "nothing happens")
        assert result_of(await sessions.load(session), state.turn.prompts[0]).text == "Done."

    told(story)


def test_prompts_wait_are_withdrawn_checked_and_refused(told):
    async def story(sessions, home):
        model = home.home.script(calls(BASH), "Done.", name="wait.json")
        session, _ = await answered(sessions, model)
        later = await sessions.prompt(session, "Later", queue=True, options=options(model), files=[File("a", "b")])
        assert await sessions.waiting_prompts(session) == [later]
        (item,) = await sessions.pending_prompts(session)
        assert (item.id, item.text, item.files, item.queue) == (later, "Later", (File("a", "b"),), True)
        assert await sessions.withdraw(session, later) is True
        assert await sessions.withdraw(session, later) is True
        assert await sessions.waiting_prompts(session) == []
        with pytest.raises(ConfigError, match="has no prompt"):
            await sessions.withdraw(session, "prm_unknown")
        unknown = options("nobody/nothing")
        for refused in (
            lambda: sessions.check_prompt(session, "Hi!", unknown),
            lambda: sessions.begin("ses_never", "Hi!", unknown),
            lambda: sessions.prompt(session, "Hi!", options=unknown),
            lambda: sessions.prompt(session, "Hi!", options=options(model, limits={"steps": -1})),
            lambda: sessions.prompt(session, 5),
            lambda: sessions.pin(session, "yes"),
        ):
            with pytest.raises(ConfigError):
                await refused()
        with pytest.raises(NoSuchSession):
            await sessions.load("ses_never")
        await sessions.check_prompt(session, "Hi!", options(model))
        assert await sessions.begin("begun", "Hi!", options(model)) == "begun"
        recorded = await sessions.prompt("begun", "Only noted.", reply=False)
        assert (await sessions.wait("begun", recorded)).reason == "recorded"

    told(story)


def test_a_running_turn_is_extended_and_aborted(told):
    async def story(sessions, home):
        model = home.home.script(calls(BASH), "Done.", name="abort.json")
        session, _ = await answered(sessions, model, limits={"steps": 3})
        extension = await sessions.extend(session, "steps", 2)
        while (part := await sessions.extended(session, extension)) is None:
            await asyncio.sleep(0.02)
        assert isinstance(part, Extension) and (part.limit, part.by) == ("steps", 2)
        for limit, by in (("steps", 0), ("nothing", 1)):
            with pytest.raises(ConfigError):
                await sessions.extend(session, limit, by)
        refused = await sessions.extend(session, "steps", 10_000)
        while (part := await sessions.extended(session, refused)) is None:
            await asyncio.sleep(0.02)
        assert isinstance(part, Notice | Extension)
        await sessions.abort(session, detail="enough")
        await sessions.parked(session)
        state = await sessions.load(session)
        assert (state.turn.finish.reason, state.running) == ("aborted", None)
        await sessions.abort(session)
        await sessions.resume(session)
        await sessions.compact(session)
        await sessions.parked(session)

    told(story)


def test_sessions_are_listed_described_copied_and_deleted(told):
    async def story(sessions, home):
        session, _ = await answered(sessions, home.home.script("Hello.", name="list.json"))
        await sessions.rename(session, "A greeting")
        await sessions.pin(session, True)
        await sessions.set_approvals(session, "ask")
        assert (await sessions.load(session)).info.approvals == "ask"
        (row,) = await sessions.sessions(SessionQuery(text="greeting", pinned=True, limit=1))
        assert (row.info.id, row.info.title, row.info.pinned) == (session, "A greeting", True)
        assert await sessions.is_begun(row)
        assert await sessions.sessions(SessionQuery(text="greeting", before=row.mark)) == []
        assert await sessions.last_session() == session
        await sessions.archive(session, True)
        assert session not in [each.info.id for each in await sessions.sessions()]
        (row,) = await sessions.sessions(SessionQuery(archived="only", text="greeting"))
        await sessions.archive(session, False)
        assert session not in await sessions.interrupted(most=50)
        fork = await sessions.fork(session)
        assert (await sessions.load(fork)).turns == 1
        exported = await sessions.export(session)
        assert set(await sessions.delete(session)) == {session}
        with pytest.raises(NoSuchSession):
            await sessions.status(session)
        assert await sessions.import_bundle(exported) == session
        with pytest.raises(ConfigError, match="not an exported session"):
            await sessions.import_bundle(b"{}")
        with pytest.raises(ConfigError, match=r"needs no files|subagent|place"):
            await sessions.move(session, "not a place!")
        for each in (session, fork):
            await sessions.delete(each)

    told(story)


def test_a_conversation_from_elsewhere_begins_a_session(told):
    async def story(sessions, home):
        said = [UserMessage("p", "Hi"), AssistantMessage("a", (AssistantText("Hello"),))]
        session = await sessions.create(messages=said)
        assert len((await sessions.load(session)).messages) == 2
        assert await sessions.create(session, messages=said) == session
        with pytest.raises(ConfigError, match="choose a new id"):
            await sessions.create(session, messages=[UserMessage("p", "Other")])
        with pytest.raises(ConfigError, match="session id"):
            await sessions.create("../outside")

    told(story)


def test_turns_are_undone_and_redone_with_their_files(told):
    async def story(sessions, home):
        write = calls(("write", {"filePath": "page.md", "content": PAGE}))
        session, _ = await answered(sessions, home.home.script(write, "Written.", name="write.json"))
        assert f"+{PAGE.strip()}" in await sessions.diff(session)
        assert await sessions.diff(session, 1) == await sessions.diff(session)
        undone = await sessions.undo(session)
        assert (undone.turn, undone.files, undone.prompt) == (1, ("page.md",), "Hi!")
        assert not (home.project / "page.md").exists()
        redone = await sessions.redo(session)
        assert (redone.turn, redone.files, redone.finished) == (1, ("page.md",), False)
        (home.project / "page.md").write_text("Changed by hand.")
        with pytest.raises(ConfigError, match=r"page\.md"):
            await sessions.undo(session)
        await sessions.undo(session, to="1", force=True)
        with pytest.raises(ConfigError):
            await sessions.undo(session, to="7")

    told(story)


def test_subagents_belong_to_a_tree(told):
    async def story(sessions, home):
        task = ("task", {"description": "Look", "prompt": "Look around", "subagent_type": "general"})
        model = home.home.script(calls(task), "Seen.", "All seen.", name="tree.json")
        session, result = await answered(sessions, model)
        assert result.reason == "answered"
        state = await sessions.load(session)
        (branch,) = await sessions.subagents(state, {})
        assert (branch.agent, branch.state, branch.below) == ("general", "idle", ())
        assert set(await sessions.tree_entries(session)) == {session, branch.session}
        assert (await sessions.tree_account(state)).spent.steps == result.steps + branch.steps
        with pytest.raises(ConfigError, match="parent"):
            await sessions.move(branch.session, "elsewhere")
        assert (await sessions.account()).today.spent == (await sessions.stats(1)).account.today.spent

    told(story)


def test_every_method_refuses_an_unknown_session(told):
    async def story(sessions, home):
        for asked in (
            sessions.prompt("ses_no", "Hi!"),
            sessions.abort("ses_no"),
            sessions.extend("ses_no", "steps", 1),
            sessions.compact("ses_no"),
            sessions.load("ses_no"),
            sessions.entries("ses_no"),
            sessions.tree_entries("ses_no"),
            sessions.wait("ses_no", "p"),
            sessions.status("ses_no"),
            sessions.rename("ses_no", "Title"),
            sessions.pin("ses_no", True),
            sessions.set_approvals("ses_no", "ask"),
            sessions.fork("ses_no"),
            sessions.undo("ses_no"),
            sessions.diff("ses_no"),
            sessions.export("ses_no"),
            sessions.delete("ses_no"),
            sessions.load("..%2F..%2Fetc"),
        ):
            with pytest.raises(NoSuchSession):
                await asked
        model = home.home.script(calls(("bash", {"command": "sleep 60", "description": "Sleep"})), name="held.json")
        session, result = await answered(sessions, model)
        await sessions.answer(session, result.asks[0].id, "once")
        while (await sessions.status(session)).state != "busy":
            await asyncio.sleep(0.02)
        with pytest.raises(LeaseLost):
            await sessions.delete(session)
        await sessions.abort(session)
        await sessions.parked(session)

    told(story)


def test_a_project_tells_its_settings_agents_models_and_files(told):
    async def story(project, home):
        (home.project / "notes.md").write_text("one\n")
        (home.project / ".env").write_text("KEY=1\n")
        known = project.preferences()
        assert (known.agent, project.directory) == ("build", home.project)
        agents = {row.agent.name: row for row in project.agents()}
        assert {"build", "plan", "general"} <= set(agents)
        assert (agents["general"].agent.mode, agents["title"].agent.hidden) == ("subagent", True)
        assert agents["build"].limits.tool_calls == 200
        assert all(isinstance(notice, str) for notice in project.new_notices())
        rows = {row.key: row.value for row in await project.configuration()}
        assert rows["agent"] == '"build"'
        assert (await project.trust()).command == f"bridle trust {home.project}"
        assert (await project.approvals(), await project.mcp_servers()) == ([], [])
        assert [row.name for row in await project.slash_commands()] == ["init", "memory", "review"]
        assert (await project.branch()).name == ""
        assert {row.info.ref for row in await project.model_rows()} == set(await project.reachable_models())
        assert (await project.stats(1, [str(home.project)])).account.account == ""
        assert [each.path for each in await project.find_files("notes", 5)] == ["notes.md"]
        assert "notes.md" in [each.path for each in await project.list_folder()]
        assert (await project.read_file("notes.md")).text == "one\n"
        for refused in (project.read_file(".env"), project.read_file("/etc/passwd")):
            with pytest.raises(AccessRefused):
                await refused
        for wrong in (
            project.read_file("none.md"),
            project.find_files("a", 0),
            project.stats(0),
            project.revoke_approval(1, "edit: a.py"),
        ):
            with pytest.raises(ConfigError):
                await wrong
        assert await project.upload("a.txt", b"text") == File("a.txt", "text")

    told(story)


def test_a_prompt_is_expanded_where_it_runs(told):
    async def story(project, home):
        (home.project / "notes.md").write_text("one\n")
        asked = []

        async def confirm(kind, words):
            asked.append((kind, words))
            return True

        found = await project.expand("see @notes.md", confirm, typed="see @general")
        assert (found.text, found.files, found.wants) == ("see @notes.md", (File("notes.md", "one\n"),), ("general",))
        with pytest.raises(ConfigError, match="there is no command /nothing"):
            await project.expand("/nothing at all", confirm, typed="")
        assert asked == []

    told(story)


def test_background_commands_are_listed_and_ended(told):
    async def story(sessions, home):
        model = home.home.script(
            calls(("bash", {"command": "sleep 60", "description": "Sleep", "background": True})),
            "Started.",
            name="background.json",
        )
        session, result = await answered(sessions, model)
        await sessions.answer(session, result.asks[0].id, "once")
        await sessions.parked(session)
        (command,) = await sessions.background_commands(session)
        assert (command.command, command.status) == ("sleep 60", None)
        await sessions.end_background_command(session, command.id)
        (ended,) = await sessions.background_commands(session)
        assert ended.status is not None

    told(story)


def test_values_survive_the_way(told):
    """Text that is not well-formed, and large attachments, arrive as they do in one process."""

    async def story(sessions, home):
        session = await sessions.create()
        large = File("large.txt", "x" * 9_000_000)
        prompt = await sessions.prompt(session, "half \ud800 of it", reply=False, files=[large])
        assert (await sessions.wait(session, prompt)).reason == "recorded"
        async with aclosing(sessions.follow(session)) as following:
            seen = [await anext(following) for _ in range(len(await sessions.entries(session)))]
        assert seen == await sessions.entries(session)
        raw = msgspec.json.encode(seen)
        assert b"half ? of it" in raw and len(raw) > 9_000_000

    told(story)
