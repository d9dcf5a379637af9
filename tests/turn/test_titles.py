"""Titles: asked of the small model beside the turn, charged like everything else, and never in the way."""

import asyncio
from contextlib import suppress

import pytest
from support.virtual import run_virtually

from bridle import Limits, Reply, Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.core.agent import AgentDefinition, ModelInfo, Price
from bridle.core.events import PartPut
from bridle.core.parts import Request, TurnFinish
from bridle.core.states import Broken, Cut, Replied, Usage
from bridle.core.stream import StepEnd, StreamEnd, TextDelta
from bridle.errors import JournalFull
from bridle.journal.memory import MemoryJournal
from bridle.testing.scripted import ScriptedError


@tool
async def look(key: str = "") -> str:
    """Look at something."""
    await asyncio.sleep(5)
    return f"saw {key}"


def told(
    title,
    *replies,
    limits=None,
    price=None,
    small_price=None,
    prompts=("Mend the failing test",),
    at="m",
    small=None,
    journal=None,
    steps=None,
):
    """A session after its prompts: its title, the request for it, the ending, and what the models were asked."""

    async def work(seams):
        models = {
            "m": ScriptedModel(replies, price=price),
            "s": small or ScriptedModel(title=title, price=small_price, ref="s"),
        }
        settings = Settings(small_model="s" if at == "m" else at)
        agents = [AgentDefinition("build", model="m", steps=steps, limits=limits or Limits())]
        async with Runtime(
            RuntimeConfig(
                models=models,
                settings=settings,
                agents=agents,
                tools=[look],
                seams=seams,
                journal=journal or MemoryJournal(),
            )
        ) as runtime:
            session = await runtime.create()
            for words in prompts:
                await runtime.wait(session, await runtime.prompt(session, words))
            state = await runtime.load(session)
            requests = [part for part in state.parts.values() if isinstance(part, Request) and part.purpose == "title"]
            ends = [part for part in state.parts.values() if isinstance(part, TurnFinish)]
            return state.info.title, requests, ends, getattr(models["s"], "requests", [])

    return run_virtually(work)


WORK = (call("look", key="a"), call("look", key="b"), "done")


def test_a_title_comes_beside_the_first_step_also_where_there_is_only_one():
    title, (request,), (end,), _ = told(Reply(text="Mend the test", delay=1.5), "done")
    assert (title, type(request.state), end.reason, end.spent.steps) == ("Mend the test", Replied, "answered", 1)


def test_a_turn_that_closes_with_its_first_step_gets_a_title_too():
    title, _, (end,), _ = told("Mend the test", "done", steps=1)
    assert (title, end.spent.steps) == ("Mend the test", 1)


def test_a_title_is_asked_for_before_the_first_reply_has_ended():
    order = []

    class Noted(ScriptedModel):
        def reply(self, request):
            order.append(request.purpose)
            return super().reply(request)

    title, _, _, _ = told("", Reply(text="done", delay=5.0), small=Noted(title=Reply(text="Early", delay=1.0), ref="s"))
    assert (title, order) == ("Early", ["title"])


def test_a_title_is_charged_but_is_no_step():
    title, requests, (end,), asked = told(Reply(text='"Mend the test"\n', usage=Usage(30, 4)), *WORK)
    assert (len(requests), len(asked)) == (1, 1)
    (request,), (asked,) = requests, asked
    assert (title, request.model, request.number) == ("Mend the test", "s", 0)
    assert request.state == Replied(Usage(30, 4), 0.0, "stop")
    assert (end.reason, end.spent.steps) == ("answered", 3)
    assert end.usage.total == end.spent.tokens and end.spent.tokens > 34
    assert (asked.purpose, asked.tools, [each.text for each in asked.messages]) == (
        "title",
        (),
        ["Mend the failing test"],
    )


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(error=ScriptedError("no such model", status=404)), Broken),
        (Reply(text="   "), Broken),
        (Reply(calls=(call("look"),)), Broken),
        (Reply(hang=True), (Broken, Cut)),
        (Reply(text="half a ti", cut=2), Broken),
    ],
)
def test_whatever_goes_wrong_with_a_title_the_turn_ends_as_it_would_have(reply, kind):
    title, (request,), (end,), _ = told(reply, *WORK)
    assert (title, end.reason, end.spent.steps, end.spent.tool_calls) == ("", "answered", 3, 2)
    assert isinstance(request.state, kind)


def test_a_turn_waits_two_seconds_for_its_title_and_no_longer():
    title, (request,), (end,), _ = told(Reply(text="late", delay=25.0), call("look"), "done")
    assert (title, type(request.state), end.reason) == ("", Cut, "answered")
    assert 5 <= end.spent.seconds <= 7.1


def test_the_time_of_a_turn_is_not_spent_on_waiting_for_a_title():
    _, (request,), (end,), _ = told(Reply(text="late", delay=25.0), call("look"), "done", limits=Limits(seconds=6.0))
    assert isinstance(request.state, Cut)
    assert end.spent.seconds <= 6.0


def test_a_title_that_failed_is_asked_for_again_with_the_next_prompt():
    replies = iter([Reply(text=" "), Reply(text="Talk")])
    small = ScriptedModel(lambda request: next(replies), ref="s")
    title, requests, ends, _ = told("", "one", "two", prompts=("first", "second"), small=small)
    assert (title, len(requests), [end.reason for end in ends]) == ("Talk", 2, ["answered", "answered"])


def test_a_title_that_is_there_is_not_asked_for_again():
    _, requests, _, _ = told("Once", *WORK, *WORK, prompts=("first", "second"))
    assert len(requests) == 1


def test_no_budget_means_no_title_and_nothing_else():
    title, requests, (end,), asked = told(
        "A title",
        Reply(calls=(call("look"),), usage=Usage(40, 4)),
        "done",
        limits=Limits(cost=0.03),
        price=Price(1.0, 2.0),
        small_price=Price(1000.0, 1000.0),
    )
    assert (title, requests, asked, end.reason) == ("", [], [], "answered")


def test_money_that_is_limited_is_not_spent_on_a_model_without_a_price():
    _, requests, _, _ = told("A title", *WORK, limits=Limits(cost=1.0), price=Price(1.0, 2.0))
    assert requests == []


def test_a_small_model_that_is_not_to_be_had_is_no_error():
    title, requests, (end,), _ = told("A title", *WORK, at="nobody/knows-it")
    assert (title, requests, end.reason) == ("", [], "answered")


class Unheard:
    """A model that does not stop when it is told to, or ends the process."""

    def __init__(self, how):
        self.how = how
        self.info = ModelInfo("s")

    async def stream(self, request):
        if self.how == "exits":
            raise SystemExit(3)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(10_000)
        yield


@pytest.mark.parametrize("how", ["exits", "hangs"])
def test_a_small_model_that_misbehaves_holds_up_no_turn(how):
    title, (request,), (end,), _ = told("", *WORK, small=Unheard(how))
    assert (title, end.reason, end.spent.steps) == ("", "answered", 3)
    assert isinstance(request.state, (Broken, Cut))


class Belated:
    """A model that answers only when it has been left."""

    info = ModelInfo("s")

    async def stream(self, request):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.sleep(3)
        yield TextDelta("Too late")
        yield StepEnd("stop", Usage(30, 4))
        yield StreamEnd()


def test_a_title_that_comes_when_its_turn_is_over_is_not_taken():
    title, requests, ends, _ = told("", *WORK, *WORK, prompts=("Mend the failing test", "Go on"), small=Belated())
    assert title == ""
    assert [type(request.state) for request in requests] == [Cut, Cut]
    assert [end.reason for end in ends] == ["answered", "answered"]


def test_without_words_there_is_nothing_to_find_a_title_for():
    title, requests, (end,), asked = told("A title", *WORK, prompts=(" \n",))
    assert (title, requests, asked, end.reason) == ("", [], [], "answered")


class Bare:
    """A small model of somebody else, whose stream can be read and nothing else."""

    def __init__(self, inner):
        self._inner = inner
        self.info = inner.info

    def stream(self, request):
        self._events = self._inner.stream(request)
        return self

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await anext(self._events)


def test_a_title_is_read_from_a_stream_that_cannot_be_closed():
    title, (request,), _, _ = told("", *WORK, small=Bare(ScriptedModel(title="Mend the test", ref="s")))
    assert (title, type(request.state)) == ("Mend the test", Replied)


class Unwilling(MemoryJournal):
    """A journal that takes everything but requests for titles."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    async def append(self, lease, entry, **rest):
        put = [event.part for event in entry.events if isinstance(event, PartPut)]
        if any(isinstance(part, Request) and part.purpose == "title" for part in put):
            raise self.error
        await super().append(lease, entry, **rest)


def test_a_title_for_which_the_disk_has_no_room_is_done_without():
    title, requests, (end,), asked = told("A title", *WORK, journal=Unwilling(JournalFull("the disk is full")))
    assert (title, requests, asked, end.reason, end.spent.steps) == ("", [], [], "answered", 3)


def test_a_defect_that_shows_beside_the_turn_is_not_swallowed():
    with pytest.raises(ZeroDivisionError, match="a defect"):
        told("A title", *WORK, journal=Unwilling(ZeroDivisionError("a defect")))


def test_an_abort_does_not_wait_for_a_title():
    async def work(seams):
        models = {"m": ScriptedModel([Reply(hang=True)]), "s": ScriptedModel([Reply(hang=True)], ref="s")}
        agents = [AgentDefinition("build", model="m")]
        async with Runtime(
            RuntimeConfig(models=models, settings=Settings(small_model="s"), agents=agents, seams=seams)
        ) as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "Mend the failing test")
            await asyncio.sleep(1)
            await runtime.abort(session)
            return await runtime.wait(session, prompt)

    result = run_virtually(work)
    assert (result.reason, result.seconds) == ("aborted", 1.0)
