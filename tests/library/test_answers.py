"""Programs that answer the asks of paused turns, and streams as server-sent events."""

import asyncio

import msgspec
import pytest

from bridle import Agent, AlreadyAnswered, ConfigError, Context, Reply, ScriptedModel, call, tool
from bridle.tools import question

PAID = []


@tool(needs=lambda amount: amount > 100)
def pay(ctx: Context[str], amount: int) -> str:
    """Pay an amount."""
    PAID.append((ctx.deps, amount))
    return f"paid {amount}"


@tool(deferred=True)
def review(text: str) -> str:
    """Have a person review a text."""
    raise AssertionError("a deferred tool is never called")


@pytest.fixture(autouse=True)
def nothing_paid():
    PAID.clear()


def program(path, replies):
    model = ScriptedModel(replies)
    return Agent[str, str](model=model, tools=[pay, review, question.TOOL], journal=path, on_ask="pause")


def test_an_answer_continues_the_turn_in_another_program_and_returns_its_result(tmp_path):
    replies = [
        [
            call("pay", amount=500),
            call("pay", amount=600),
            call("review", text="?"),
            call("question", questions=[{"question": "Which?", "header": "Which", "options": []}]),
        ],
        "Done.",
    ]
    paused = program(tmp_path / "j.db", replies).run_sync("go", deps="Ann")
    assert [each.kind for each in paused.asks] == ["permission", "permission", "deferred", "question"]

    async def work():
        async with program(tmp_path / "j.db", replies) as agent:
            first, second, third, fourth = [each.id for each in paused.asks]
            results = [
                await agent.answer(paused.session, first, "once", arguments={"amount": 5}, deps="Bob"),
                await agent.answer(paused.session, second, "reject", feedback="too much", deps="Bob"),
                await agent.answer(paused.session, third, "looks good \udc80" * 20_000, deps="Bob"),
                await agent.answer(paused.session, fourth, "the left one", deps="Bob"),
            ]
            return [result.reason for result in results], results[-1]

    reasons, result = asyncio.run(work())
    assert (reasons, result.output, PAID) == (["paused", "paused", "paused", "answered"], "Done.", [("Bob", 5)])
    paid, rejected, reviewed, chosen = [message.text for message in result.messages if hasattr(message, "call")]
    assert (paid.startswith("paid 5"), "too much" in rejected) == (True, True)
    assert reviewed.startswith("looks good") and len(reviewed) < 100_000
    assert chosen == "The person answered: the left one"


def test_an_answer_that_cannot_hold_is_refused_and_the_ask_stays_open(tmp_path):
    agent = program(tmp_path / "j.db", [call("pay", amount=500), "Done."])
    paused = agent.run_sync("go", deps="Ann")
    (asked,) = paused.asks

    async def work():
        with pytest.raises(ConfigError, match=f"does not ask '1.2' .open asks: {asked.id}.$"):
            await agent.answer(paused.session, "1.2", "once", deps="Ann")
        with pytest.raises(ConfigError, match="must be once, always or reject, not 'yes'"):
            await agent.answer(paused.session, asked.id, "yes", deps="Ann")
        with pytest.raises(ConfigError, match="answer: text must be text, not True"):
            await agent.answer(paused.session, asked.id, True, deps="Ann")
        with pytest.raises(ConfigError, match="answer: feedback must be text, not 5"):
            await agent.answer(paused.session, asked.id, "reject", feedback=5, deps="Ann")
        with pytest.raises(ConfigError, match="answer: arguments must be a mapping with text keys, not 'x'"):
            await agent.answer(paused.session, asked.id, "once", arguments="x", deps="Ann")
        with pytest.raises(ConfigError, match="answer: arguments cannot be recorded"):
            await agent.answer(paused.session, asked.id, "once", arguments={"amount": object()}, deps="Ann")
        result = await agent.answer(paused.session, asked.id, "once", deps="Ann")
        with pytest.raises(ConfigError, match="open asks: none"):
            await agent.answer(paused.session, asked.id, "once", deps="Ann")
        return result.output

    assert (asyncio.run(work()), PAID) == ("Done.", [("Ann", 500)])


@pytest.mark.parametrize("said", [("once", "reject"), ("reject", "once"), ("one", "two")], ids="-".join)
def test_of_two_answers_at_the_same_time_the_first_holds_and_the_second_caller_is_told(said, tmp_path):
    asking = call("review", text="?") if "one" in said else call("pay", amount=500)
    agent = program(tmp_path / "j.db", [asking, "Done."])
    paused = agent.run_sync("go", deps="Ann")

    async def work():
        both = [agent.answer(paused.session, paused.asks[0].id, each, deps="Ann") for each in said]
        return await asyncio.gather(*both, return_exceptions=True)

    first, second = asyncio.run(work())
    assert first.ended and isinstance(second, AlreadyAnswered)
    assert str(second).endswith(f"was answered {said[0]!r} before")


def test_a_stream_as_server_sent_events_has_every_event_and_ends_its_run_when_it_is_closed(tmp_path):
    agent = Agent(model=ScriptedModel([Reply(text="one two", chunk=4)]), journal=tmp_path / "j.db")

    async def work():
        sent = [line async for line in agent.stream("go").sse()]
        lines = Agent(model=ScriptedModel([Reply(hang=True)]), journal=tmp_path / "j.db").stream("again").sse()
        first = await anext(lines)
        await lines.aclose()
        session = msgspec.json.decode(first.removeprefix("data: "))["session"]
        async with agent.runtime() as runtime:
            return sent, (await runtime.load(session)).turn.finish.reason

    sent, reason = asyncio.run(work())
    assert all(line.startswith("data: {") and line.endswith("}\n\n") and line.count("\n") == 2 for line in sent)
    events = [msgspec.json.decode(line.removeprefix("data: ")) for line in sent]
    assert (events[0]["type"], events[-1]["type"], events[-1]["text"], reason) == (
        "session",
        "result",
        "one two",
        "aborted",
    )
