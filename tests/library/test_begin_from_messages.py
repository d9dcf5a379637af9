"""A session begins from messages of elsewhere, and goes on like any other."""

import asyncio
from base64 import b64encode

import pytest
from msgspec.structs import replace
from support.cli_home import ForkedHome

from bridle import (
    Agent,
    ConfigError,
    Limits,
    Price,
    Runtime,
    RuntimeConfig,
    ScriptedModel,
    call,
    from_anthropic,
    from_openai,
    to_anthropic,
    to_openai,
    tool,
)
from bridle.core.history import NO_RESULT
from bridle.core.messages import (
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    ResultMessage,
    Thought,
    UserMessage,
)
from bridle.core.parts import Call, Prompt, Text
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.journal.journal import folded
from bridle.wire.events import PromptEvent, TextEvent, ToolUseEvent
from bridle.wire.projection import EventStream

PNG = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 8).decode()
ORDERED = {"id": "call_1", "type": "function", "function": {"name": "order", "arguments": '{"item":"tea"}'}}
SHOP = [
    {"role": "system", "content": "You sell."},
    {"role": "user", "content": "One tea, please."},
    {"role": "assistant", "content": "I order it.", "tool_calls": [ORDERED]},
    {"role": "tool", "tool_call_id": "call_1", "content": "ordered"},
    {"role": "assistant", "content": "It is on its way."},
]
RAN = []


@tool
def order(item: str) -> str:
    """Order an item."""
    RAN.append(item)
    return f"ordered {item}"


def clerk(journal, *replies, **more):
    model = ScriptedModel(list(replies), price=Price(input=1.0, output=1.0), context_window=16_000)
    return Agent("clerk", model=model, tools=[order], journal=journal, **more), model


def test_the_model_reads_the_conversation_before_the_first_prompt(tmp_path):
    RAN.clear()
    agent, model = clerk(tmp_path / "j.db", call("order", item="cup"), "A cup is on its way too.")
    session = agent.begin_sync(from_openai(SHOP))
    result = agent.run_sync("And a cup.", session=session)
    assert to_openai(model.requests[0].messages) == [*SHOP[1:], {"role": "user", "content": "And a cup."}]
    assert (result.reason, result.turn, result.steps, result.tool_calls) == ("answered", 1, 2, 1)
    assert RAN == ["cup"]
    assert to_openai(result.messages)[:5] == [*SHOP[1:], {"role": "user", "content": "And a cup."}]
    assert list(result.messages[:4]) == from_openai(SHOP)


def test_it_survives_a_restart_and_verification_undo_fork_and_a_move_to_another_journal(tmp_path):
    agent, _ = clerk(tmp_path / "j.db", "One.", "Two.")
    session = agent.begin_sync(from_openai(SHOP))
    agent.run_sync("first", session=session)
    other, model = clerk(tmp_path / "j.db", "Two.", "Three.")
    assert to_openai(other.run_sync("second", session=session).messages)[:4] == SHOP[1:]

    async def manage():
        async with other.runtime() as runtime:
            entries = await runtime.entries(session)
            assert verified(entries) is None
            assert folded(session, entries, Session()).messages == (await runtime.load(session)).messages
            branch = await runtime.fork(session, 1)
            await runtime.undo(session, to="1")
            left = [to_openai((await runtime.load(id)).messages) for id in (branch, session)]
            assert left == [SHOP[1:], SHOP[1:]]
            await runtime.redo(session)
            return await runtime.export(session)

    raw = asyncio.run(manage())
    moved, model = clerk(tmp_path / "other.db", "Four.")

    async def import_it():
        async with moved.runtime() as runtime:
            assert await runtime.import_bundle(raw) == session
            assert await runtime.import_bundle(raw) == session

    asyncio.run(import_it())
    moved.run_sync("fourth", session=session)
    assert to_openai(model.requests[0].messages)[:4] == SHOP[1:]


def test_an_imported_conversation_is_checked_like_a_given_one(tmp_path):
    agent, _ = clerk(tmp_path / "j.db", "One.")
    session = agent.begin_sync(from_openai(SHOP))

    async def move(change):
        async with agent.runtime() as runtime:
            raw = change(await runtime.export(session))
            async with Runtime(RuntimeConfig(directory=tmp_path)) as other:
                await other.import_bundle(raw)

    asyncio.run(move(lambda raw: raw))
    with pytest.raises(ConfigError, match="a result, but no call 'call_2'"):
        asyncio.run(move(lambda raw: raw.replace(b'"call": "call_1"', b'"call": "call_2"')))
    with pytest.raises(ConfigError, match="does not begin with a whole conversation"):
        asyncio.run(move(lambda raw: raw.replace(b"0.history.3", b"0.history.4")))


def test_it_charges_nothing_and_counts_for_no_limit(tmp_path):
    agent, _ = clerk(tmp_path / "j.db", "Yes.", limits=Limits(steps=2, tool_calls=1))
    session = agent.begin_sync(from_openai(SHOP * 5))
    fresh = agent.run_sync("Is it there?", session=session)
    assert (fresh.steps, fresh.tool_calls, fresh.reason) == (1, 0, "answered")

    async def rest():
        async with agent.runtime() as runtime:
            state = await runtime.load(session)
            return state.always, state.todos, state.known_files, state.kept, state.children, state.turns

    assert asyncio.run(rest()) == (set(), (), {}, {}, set(), 1)


def test_readers_see_it_as_earlier_conversation():
    async def story():
        agent, _ = clerk(None, "Yes.")
        session = await agent.begin(from_openai(SHOP))
        async with agent.runtime() as runtime:
            entries = await runtime.entries(session)
            state = await runtime.load(session)
            rows = [row for row in await runtime.sessions() if await runtime.is_begun(row)]
        return entries, state, rows

    entries, state, rows = asyncio.run(story())
    stream = EventStream(state.info.id)
    events = [event for entry in entries for event in stream.of_entry(entry)]
    told = [event for event in events if isinstance(event, (PromptEvent, TextEvent, ToolUseEvent))]
    assert rows == []
    assert [(type(event), event.output if isinstance(event, ToolUseEvent) else event.text) for event in told] == [
        (PromptEvent, "One tea, please."),
        (TextEvent, "I order it."),
        (ToolUseEvent, "ordered"),
        (TextEvent, "It is on its way."),
    ]
    assert [type(part) for part in state.parts.values()][1:] == [Prompt, Text, Call, Text]


def test_the_same_session_begins_once(tmp_path):
    async def story():
        agent, _ = clerk(tmp_path / "j.db", "Yes.", "Yes.")
        given = from_openai(SHOP)
        assert await asyncio.gather(*[agent.begin(given, session="shop-7") for _ in range(5)]) == ["shop-7"] * 5
        await agent.run("Is it there?", session="shop-7")
        assert await agent.begin(iter(given), session="shop-7") == "shop-7"
        with pytest.raises(ConfigError, match="shop-7 exists and did not begin with these messages"):
            await agent.begin(given[:1], session="shop-7")
        # A process may die after it created the session and before it recorded the messages.
        assert await agent.begin([], session="half") == await agent.begin(given, session="half") == "half"
        assert list(await agent.history("half")) == given
        fresh = await agent.begin([])
        assert list(await agent.history(fresh)) == []
        await agent.run("Hi", session=fresh)
        with pytest.raises(ConfigError, match="choose a new id"):
            await agent.begin(given, session=fresh)
        assert list(await agent.history("shop-7"))[:4] == given

    asyncio.run(story())


def test_a_conversation_larger_than_the_window_is_compacted_before_the_first_step(tmp_path):
    long = [message for n in range(40) for message in (UserMessage("", f"{n} " * 900), _said(f"reply {n}"))]
    agent, model = clerk(tmp_path / "j.db", "A summary of it all.", "Done.")
    session = agent.begin_sync(long)
    result = agent.run_sync("What now?", session=session)
    assert (result.reason, result.steps) == ("answered", 1)
    assert "A summary of it all." in model.requests[-1].messages[0].text
    assert (len(model.requests[-1].messages) < 40, model.requests[-1].messages[-1].text) == (True, "What now?")


def test_the_messages_of_a_session_are_edited_and_continued(tmp_path):
    agent, _ = clerk(tmp_path / "j.db", [call("order", item="tea"), call("order", item="cup")], "Both.")
    first = agent.run_sync("Tea and a cup.")
    edited = [replace(first.messages[0], text="Tea and a big cup."), *first.messages[1:]]
    other, model = clerk(tmp_path / "j.db", "Fine.")
    other.run_sync("Thanks.", session=other.begin_sync(edited))
    sent = to_openai(model.requests[-1].messages)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert (sent[0]["content"], sent[2]["content"]) == ("Tea and a big cup.", "ordered tea")
    ids = [made["id"] for made in sent[1]["tool_calls"]]
    assert [sent[2]["tool_call_id"], sent[3]["tool_call_id"]] == ids
    # The ids of the old session would be those of calls of the new one.
    assert all(id.startswith("0-history-") for id in ids)


def _said(text, *calls):
    return AssistantMessage("", (AssistantText(text), *calls))


CALLED = CallMessage("c1", "order", '{"item":"tea"}')


def kept(*messages):
    async def story():
        agent = Agent(model=ScriptedModel([]))
        return list(await agent.history(await agent.begin(messages)))

    return asyncio.run(story())


def test_calls_without_a_result_get_one_that_says_so():
    two = _said("", CALLED, replace(CALLED, id="c2"))
    found = kept(two, ResultMessage("", "c2", "anything", "there"), UserMessage("", "go on"), _said("last", CALLED))
    assert [(message.call, message.name, message.text, message.failed) for message in found if _is_result(message)] == [
        ("c2", "order", "there", False),
        ("c1", "order", NO_RESULT, True),
        # An id that was used before is replaced.
        ("0.history.5.1", "order", NO_RESULT, True),
    ]
    assert [message.id for message in found] == [f"0.history.{n}" for n in range(1, 7)]


def _is_result(message):
    return isinstance(message, ResultMessage)


def test_what_no_model_can_read_is_left_out_or_made_sound():
    picture = Attachment("a\ud800.png", "image/jpeg", PNG)
    found = kept(
        UserMessage("", "half \ud83d", (picture,)),
        AssistantMessage("", (Thought("hm"),)),
        AssistantMessage("", (Thought("hm", "{}"), AssistantText(""), AssistantText("yes"), Thought("so"))),
    )
    assert found == [
        UserMessage("0.history.1", "half ?", (Attachment("a?.png", "image/png", PNG),)),
        AssistantMessage("0.history.2", (Thought("hm", "{}"), AssistantText("yes"))),
    ]


REFUSED = [
    ([ResultMessage("", "c1", "order", "x")], r"messages\[0\] is a result, but no call 'c1' before it awaits one"),
    ([_said("", CALLED), UserMessage("", "no"), ResultMessage("", "c1", "", "x")], r"messages\[2\] is a result"),
    ([_said("", CALLED, CALLED)], r"messages\[0\] has two calls with the id 'c1'"),
    ([_said("", replace(CALLED, arguments="[1]"))], r"messages\[0\]: call 'c1' has arguments that are not a JSON"),
    ([_said("", replace(CALLED, arguments="{"))], "not a JSON object"),
    ([_said("", replace(CALLED, name=""))], r"messages\[0\]: call 'c1' has no name"),
    ([_said("", replace(CALLED, seal="{"))], r"messages\[0\] has a seal that is not JSON"),
    ([AssistantMessage("", (Thought("x", "["), AssistantText("y")))], r"messages\[0\] has a seal"),
    ([UserMessage("", "x", (Attachment("a", "image/png", "%"),))], r"messages\[0\]: a is not base64"),
    ([UserMessage("", "x", (Attachment("", "audio/wav", "aGk="),))], r"messages\[0\]: its attachment is neither"),
    ([UserMessage("", 5)], r"messages\[0\]: Expected `str`, got `int` - at `\$.text`"),
    ([UserMessage("", "x"), {"role": "user"}], r"messages\[1\] is no message of Bridle: from_openai and"),
    (["Hi"], r"messages\[0\] is no message of Bridle"),
    (5, "messages must be a list of messages, not 5"),
    ([UserMessage("", "x")] * 20_001, "messages: there are more than 20,000"),
]


@pytest.mark.parametrize(("messages", "said"), REFUSED)
def test_a_conversation_that_no_model_can_read_is_refused_before_a_session_is_made(messages, said):
    async def story():
        agent = Agent(model=ScriptedModel([]))
        with pytest.raises(ConfigError, match=said):
            await agent.begin(messages)
        async with agent.runtime() as runtime:
            return await runtime.sessions()

    assert asyncio.run(story()) == []


def test_a_conversation_of_many_bytes_is_refused(monkeypatch):
    monkeypatch.setattr("bridle.runtime.argument_checks.MOST_HISTORY_BYTES", 1_000)
    with pytest.raises(ConfigError, match=r"messages: 1,0\d\d bytes are more than 1,000: leave old ones out"):
        kept(UserMessage("", "x" * 1_000))


def test_both_shapes_of_one_conversation_are_the_same_conversation():
    one = from_openai(SHOP)
    assert from_anthropic(to_anthropic(one)) == one == from_openai(to_openai(one))


def test_a_person_moves_it_to_their_machine_reads_it_and_goes_on(tmp_path):
    agent, _ = clerk(tmp_path / "j.db", "Yes.")
    session = agent.begin_sync(from_openai(SHOP))

    async def export():
        async with agent.runtime() as runtime:
            return await runtime.export(session, redact=True)

    (tmp_path / "project").mkdir()
    home = ForkedHome(tmp_path, tmp_path / "project")
    (home.project / "shop.json").write_bytes(asyncio.run(export()))
    assert home.run("import", "shop.json").stdout == f"{session}\n"
    assert home.run("show", session).stdout.splitlines() == [
        *["", "> One tea, please.", "I order it."],
        *['  order {"item":"tea"} [done]', "    ordered", "It is on its way."],
    ]
    done = home.run("run", "--session", session, "--model", home.script({"text": "Goes on."}), "and?")
    assert done.stdout == "Goes on.\n"
    assert "It is on its way.\n\n> and?\n" in home.run("show", session).stdout
