"""OpenCode's API over HTTP, with the requests that its SDK and its terminal application send."""

import asyncio

import httpx2
import pytest
from support.opencode_person import another, person, tell
from support.opencode_server import ASKS, LINES, scripted_runtime, told_by_words, with_snapshots

from bridle.core.parts import Prompt
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.streams import Outlet


def story(folder, work, **more):
    tell(lambda: scripted_runtime(folder, told_by_words, **more), work)


async def opened(runtime):
    return runtime


def texts(message):
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def test_a_prompt_is_answered_and_the_stream_shows_what_is_listed(tmp_path):
    async def work(one):
        session = await one.session(title="Mine")
        answer = await one.prompt(session, "hello")
        assert texts(answer) == ["You said: hello. This is **the answer**."]
        assert [part["type"] for part in answer["parts"]] == ["step-start", "reasoning", "text", "step-finish"]
        assert answer["info"]["finish"] == "stop"
        await one.idle(session)
        await one.shows_what_is_listed(session)
        deltas = [event["delta"] for event in one.of("message.part.delta", session)]
        assert "".join(deltas) == "Hm, let me think." + texts(answer)[0]
        assert (await one.get(f"/session/{session}"))["title"] == "Mine"
        assert [each["id"] for each in await one.get("/session?roots=true")] == [session]
        assert await one.get("/session/status") == {}

    story(tmp_path, work)


def test_a_session_without_a_prompt_is_not_listed(tmp_path):
    async def work(one):
        session = await one.session()
        assert await one.get("/session") == []
        assert (await one.get(f"/session/{session}"))["id"] == session
        assert (await one.get("/session/ses_no", 404))["data"]["message"] == "there is no session ses_no"

    story(tmp_path, work)


def test_a_session_is_put_aside_and_other_directories_are_refused(tmp_path):
    async def work(one):
        session = await one.session()
        await one.prompt(session, "hello")
        changed = await one.post(f"/session/{session}", {"title": "New", "time": {"archived": 1}}, method="PATCH")
        assert (changed["title"], changed["time"]["archived"] > 1) == ("New", True)
        await one.until(lambda: one.clients[session].session == changed)
        assert await one.get("/session") == []
        refused = await one.get(f"/session?directory={tmp_path.parent}", 403)
        assert "is not a directory that this server offers" in refused["data"]["message"]

    story(tmp_path, work)


def test_a_prompt_that_waits_is_listed_also_by_another_server(tmp_path):
    async def tell():
        runtime = scripted_runtime(tmp_path, told_by_words)
        async with runtime, person(runtime) as one, person(runtime) as other:
            session = await one.session()
            await one.later(session, "slow")
            await one.told("message.part.delta", session)
            await one.later(session, "hello")
            assert len(await runtime.waiting_prompts(session)) == 1, "the step still streams"
            for client in (one, other):
                listed = await client.get(f"/session/{session}/message")
                assert [texts(each) for each in listed if each["info"]["role"] == "user"] == [["slow"], ["hello"]]
            await one.post(f"/session/{session}/abort")

    asyncio.run(asyncio.wait_for(tell(), 240))


def test_an_edit_shows_its_place_in_the_file_once_it_was_made(tmp_path):
    (tmp_path / "lines.txt").write_text(LINES)

    async def work(one):
        session = await one.session()
        await one.prompt(session, "edit the notes")
        found = [part for each in await one.get(f"/session/{session}/message") for part in each["parts"]]
        (edit,) = [part["state"] for part in found if part.get("tool") == "edit"]
        assert "@@ -2,7 +2,7 @@" in edit["metadata"]["diff"]

    story(tmp_path, work)


def test_a_permission_is_asked_and_only_its_first_answer_counts(tmp_path):
    async def work(one):
        session = await one.session(permission=[{"permission": "bash", "pattern": "*", "action": "allow"}])
        asked = asyncio.create_task(one.prompt(session, "run the shell"))
        ask = await one.told("permission.asked", session)
        assert (ask["permission"], ask["metadata"]["command"]) == ("bash", "echo hello; date")
        assert await one.get("/permission") == [ask]
        assert await one.get("/session/status") == {session: {"type": "busy"}}
        async with another(one, "/global/event") as late:
            assert await late.told("permission.asked", session) == ask, "a new stream asks again"
        assert await one.post(f"/permission/{ask['id']}/reply", {"reply": "once"}) is True
        assert texts(await asked) == ["All done after the tool."]
        assert next(one.of("permission.replied", session))["reply"] == "once"
        again = await one.post(f"/permission/{ask['id']}/reply", {"reply": "reject"}, 409)
        assert again["answer"] == {"sessionID": session, "requestID": ask["id"], "reply": "once"}
        unknown = await one.post("/permission/per_no/reply", {"reply": "once"}, 404)
        assert unknown["_tag"] == "PermissionNotFoundError"
        await one.idle(session)
        await one.shows_what_is_listed(session)

    story(tmp_path, work, rules=ASKS)


def test_a_rejection_ends_the_turn_with_an_error(tmp_path):
    async def work(one):
        session = await one.session()
        asked = asyncio.create_task(one.prompt(session, "run the shell"))
        ask = await one.told("permission.asked", session)
        # As the first SDK sends it.
        await one.post(f"/session/{session}/permissions/{ask['id']}", {"response": "reject"})
        assert (await asked)["info"]["error"]["name"] == "UnknownError"
        await one.idle(session)
        assert [event["type"] for event in one.seen][-3:] == ["session.error", "session.status", "session.idle"]
        await one.shows_what_is_listed(session)

    story(tmp_path, work, rules=ASKS)


def test_a_question_is_answered(tmp_path):
    async def work(one):
        session = await one.session()
        asked = asyncio.create_task(one.prompt(session, "question"))
        question = await one.told("question.asked", session)
        assert [each["label"] for each in question["questions"][0]["options"]] == ["Red", "Blue"]
        await one.post(f"/question/{question['id']}/reply", {"answers": [["Blue"]]})
        await asked
        (call,) = [
            part
            for message in await one.get(f"/session/{session}/message")
            for part in message["parts"]
            if part["type"] == "tool"
        ]
        assert call["state"]["metadata"]["answers"] == [["Blue"]]
        assert "question.replied" in one.clients[session].seen

    story(tmp_path, work)


def test_undone_messages_are_hidden_and_removed_by_the_next_prompt(tmp_path):
    async def work(one):
        session = await one.session()
        for text in ("hello", "write", "again"):
            await one.prompt(session, text)
        assert (tmp_path / "notes.txt").exists()
        (diff,) = await one.get(f"/session/{session}/diff")
        assert (diff["file"], diff["status"], diff["additions"]) == ("notes.txt", "added", 2)
        before = await one.get(f"/session/{session}/message")
        users = [each["info"]["id"] for each in before if each["info"]["role"] == "user"]
        for place in (2, 1, 2, 1):
            reverted = await one.post(f"/session/{session}/revert", {"messageID": users[place]})
            assert reverted["revert"] == {"messageID": users[place]}
            assert (tmp_path / "notes.txt").exists() == (place == 2)
        assert "revert" not in await one.post(f"/session/{session}/unrevert")
        assert await one.get(f"/session/{session}/message") == before
        await one.post(f"/session/{session}/revert", {"messageID": users[1]})
        assert await one.get(f"/session/{session}/diff") == []
        await one.prompt(session, "other")
        await one.idle(session, 4)
        assert "message.removed" in one.clients[session].seen
        await one.shows_what_is_listed(session)
        after = await one.get(f"/session/{session}/message")
        assert [texts(each)[-1:] for each in after] == [
            ["hello"],
            ["You said: hello. This is **the answer**."],
            ["other"],
            ["You said: other. This is **the answer**."],
        ]

    home = tmp_path.with_name(tmp_path.name + "-home")
    home.mkdir()
    story(tmp_path, work, user=with_snapshots(home))


def test_undo_and_redo_are_refused_while_a_turn_runs_and_undo_where_others_changed_files(tmp_path):
    async def work(one):
        session = await one.session()
        await one.prompt(session, "write")
        user = (await one.get(f"/session/{session}/message"))[0]["info"]["id"]
        (tmp_path / "notes.txt").write_text("of another program\n")
        changed = await one.post(f"/session/{session}/revert", {"messageID": user}, 409)
        assert (changed["_tag"], "notes.txt" in changed["message"]) == ("SessionBusyError", True), changed
        assert (tmp_path / "notes.txt").read_text() == "of another program\n"
        await one.later(session, "slow")
        await one.told("message.part.delta", session)
        busy = await one.post(f"/session/{session}/revert", {"messageID": user}, 409)
        assert (busy["_tag"], busy["sessionID"]) == ("SessionBusyError", session)
        restored = await one.post(f"/session/{session}/unrevert", None, 409)
        assert (restored["_tag"], "abort it" in restored["message"]) == ("SessionBusyError", True), restored
        await one.post(f"/session/{session}/abort")
        await one.idle(session, 2)
        assert "revert" not in await one.post(f"/session/{session}/unrevert")

    home = tmp_path.with_name(tmp_path.name + "-home")
    home.mkdir()
    story(tmp_path, work, user=with_snapshots(home))


def test_a_fork_has_the_messages_before_one_with_new_ids(tmp_path):
    async def work(one):
        session = await one.session()
        await one.prompt(session, "hello")
        await one.prompt(session, "again")
        listed = await one.get(f"/session/{session}/message")
        fork = await one.post(f"/session/{session}/fork", {"messageID": listed[2]["info"]["id"]})
        forked = await one.get(f"/session/{fork['id']}/message")
        assert [texts(each) for each in forked] == [texts(each) for each in listed[:2]]
        ids = {each["info"]["id"] for each in listed} & {each["info"]["id"] for each in forked}
        assert ids == set()
        await one.told("session.created", fork["id"])
        newest = await one.http.get(f"/session/{session}/message?limit=1")
        assert newest.json() == listed[-1:]
        earlier = await one.http.get(f"/session/{session}/message?limit=9&before={newest.headers['X-Next-Cursor']}")
        assert earlier.json() == listed[:-1]

    story(tmp_path, work)


def test_a_subagent_is_a_session_below(tmp_path):
    async def work(one):
        session = await one.session()
        await one.prompt(session, "task")
        (child,) = await one.get(f"/session/{session}/children")
        assert child["parentID"] == session
        await one.idle(child["id"])
        await one.shows_what_is_listed(child["id"])
        told = [event["properties"]["part"] for event in one.seen if event["type"] == "message.part.updated"]
        running = [part["state"] for part in told if part["type"] == "tool" and part["state"]["status"] == "running"]
        assert any(state["metadata"].get("sessionId") == child["id"] for state in running)

    story(tmp_path, work)


def test_a_stream_that_opens_late_begins_with_the_prompt_just_sent(tmp_path):
    async def work(one):
        session = await one.session()
        await one.later(session, "hello")
        async with another(one, "/event") as late:
            await late.idle(session)
            await late.shows_what_is_listed(session)
        await asyncio.sleep(0.6)
        async with another(one, "/event") as later:
            assert [event["type"] for event in later.seen] == ["server.connected"]

    story(tmp_path, work)


def test_a_stream_that_opens_before_the_turn_has_begun_tells_of_no_idle_session(tmp_path):
    async def tell():
        runtime = scripted_runtime(tmp_path, told_by_words)
        async with runtime:
            hub = Hub(Directories([tmp_path], lambda path: opened(runtime)))
            tracker = await hub.track(await runtime.create())
            note = {"opencode": {"session": tracker.session, "created": hub.now()}}
            tracker.tell(tracker.projection.submitted(Prompt("msg_1", "hello", metadata=note), "build", "m"))
            hub.sent(tracker.session, "msg_1")
            outlet = Outlet(10)
            await hub.open_stream(str(tmp_path), outlet)
            told = f"{await outlet.take(1)}{await outlet.take(1)}"
            await hub.close()
            assert "msg_1" in told and '"idle"' not in told and "session.idle" not in told

    asyncio.run(tell())


def test_a_client_that_leaves_aborts_nothing(tmp_path):
    async def work(one):
        session = await one.session()
        with pytest.raises(httpx2.TimeoutException):
            body = {"parts": [{"type": "text", "text": "write"}]}
            await one.http.post(f"/session/{session}/message", json=body, timeout=0.001)
        await one.later(session, "hello")
        await one.idle(session)
        errors = list(one.of("session.error", session))
        assert errors == []

    story(tmp_path, work)


def test_rules_of_a_client_take_tools_away_and_give_none(tmp_path):
    async def work(one):
        session = await one.session(permission=[{"permission": "question", "pattern": "*", "action": "deny"}])
        await one.prompt(session, "question")
        await one.prompt(session, "question")
        assert "question.asked" not in one.clients[session].seen
        # What an agent is defined without, no client gives it.
        other = await one.session()
        await one.later(other, "question", agent="plan", tools={"question": True})
        await one.idle(other)
        assert list(one.of("question.asked", other)) == []
        rule = {"permission": "bash", "pattern": "rm *", "action": "deny"}
        refused = await one.post("/session", {"permission": [rule]}, 400)
        assert "deny a whole tool" in refused["message"]

    story(tmp_path, work)


REFUSED = [
    ("PUT", "/auth/openai"),
    ("PATCH", "/config"),
    ("PATCH", "/global/config"),
    ("POST", "/mcp"),
    ("POST", "/provider/openai/oauth/authorize"),
]
READ = ["/config", "/config/providers", "/provider", "/agent", "/command", "/path", "/project/current", "/mcp", "/lsp"]
SECRET = "sk-planted-secret"


def test_keys_are_neither_told_nor_set_and_unknown_paths_are_json(tmp_path):
    async def work(one):
        for method, path in REFUSED:
            assert "server's machine" in (await one.post(path, {}, 403, method))["data"]["message"]
        for path in READ:
            assert SECRET not in str(await one.get(path))
        assert (await one.get("/nothing", 404))["name"] == "NotFoundError"
        assert (await one.get("/global/health"))["healthy"] is True
        assert next(each["name"] for each in await one.get("/agent")) == "build"
        assert (await one.post("/session", None))["id"].startswith("ses_")
        bad = await one.post("/session/ses_no/message", {"text": 1}, 400)
        assert "parts" in bad["data"]["message"]

    story(tmp_path, work, environment={"OPENAI_API_KEY": SECRET, "PATH": "/usr/bin:/bin"})
