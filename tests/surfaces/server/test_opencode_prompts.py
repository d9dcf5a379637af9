"""Prompts over OpenCode's API: their ids, what they bring for the model, and those that still wait."""

from support.opencode_person import tell
from support.opencode_server import scripted_runtime, told_by_words


def story(folder, work, replies=told_by_words):
    tell(lambda: scripted_runtime(folder, replies), work)


def texts(message):
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def test_a_prompt_that_waits_is_taken_back_and_an_answered_one_is_kept(tmp_path):
    async def work(one):
        session = await one.session()
        await one.later(session, "slow")
        await one.told("message.part.delta", session)
        await one.later(session, "hello")
        first, _, waiting = [each["info"]["id"] for each in await one.get(f"/session/{session}/message")]
        assert await one.post(f"/session/{session}/message/{waiting}", method="DELETE") is True
        assert waiting not in str(await one.get(f"/session/{session}/message"))
        refused = await one.post(f"/session/{session}/message/{first}", None, 409, "DELETE")
        assert refused["_tag"] == "SessionBusyError" and "revert" in refused["message"]
        await one.post(f"/session/{session}/message/msg_no", None, 404, "DELETE")
        await one.post(f"/session/{session}/abort")
        await one.idle(session)
        await one.shows_what_is_listed(session)

    story(tmp_path, work)


def test_ids_of_a_client_are_kept_and_a_prompt_sent_twice_is_one(tmp_path):
    async def work(one):
        session = await one.session()
        given = {"id": "prt_0000000000001", "type": "text", "text": "slow"}
        for _ in range(2):
            body = {"messageID": "msg_ffff00000001", "parts": [given]}
            await one.post(f"/session/{session}/prompt_async", body, 204)
        await one.told("message.part.delta", session)
        assert await one.post(f"/session/{session}/abort") is True
        await one.idle(session)
        user, reply = await one.get(f"/session/{session}/message")
        assert (user["info"]["id"], [part["id"] for part in user["parts"]]) == (body["messageID"], [given["id"]])
        assert reply["info"]["error"]["name"] == "MessageAbortedError"
        await one.shows_what_is_listed(session)
        bad = await one.post(f"/session/{session}/prompt_async", {**body, "messageID": "id_1"}, 400)
        assert "does not begin with msg" in bad["data"]["message"]

    story(tmp_path, work)


def test_what_a_client_gives_with_a_prompt_reaches_the_model(tmp_path):
    asked = []

    def replies(request):
        asked.append(request)
        return '{"color": "red"}' if len(asked) == 3 else "Well."

    async def work(one):
        session = await one.session()
        await one.later(session, "Remember this.", noReply=True)
        assert (await one.told("message.updated", session))["info"]["role"] == "user"
        assert asked == []
        await one.prompt(session, "Hello", system="Speak as a pirate.", tools={"bash": False})
        (request,) = asked
        assert "Speak as a pirate." in request.system
        assert "Remember this." in [each.text for each in request.messages]
        names = {tool.name for tool in request.tools}
        assert "read" in names and "bash" not in names
        await one.prompt(session, "Again")
        assert "bash" in {tool.name for tool in asked[-1].tools}
        schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
        answer = await one.prompt(session, "A color", format={"type": "json_schema", "schema": schema})
        assert answer["info"]["structured"] == {"color": "red"}
        await one.idle(session, 3)
        await one.shows_what_is_listed(session)

    story(tmp_path, work, replies)
