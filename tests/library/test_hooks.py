"""Hooks in Python: what functions around calls and requests may answer, and what is recorded of it."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bridle import (
    AfterCall,
    AfterRequest,
    Agent,
    BeforeCall,
    BeforeRequest,
    Change,
    ConfigError,
    Context,
    Hooks,
    ModelReply,
    Output,
    Price,
    Refuse,
    Replace,
    Reply,
    Rule,
    ScriptedModel,
    ToolCall,
    call,
    tool,
)
from bridle.core.parts import Call, Halt, Notice, Request
from bridle.core.states import Broken, Done, Failed, Refused, Replied
from bridle.wire.events import DeltaEvent, RemovedEvent, StepStartEvent, TextEvent

ran = []


@tool
def look(key: str) -> str:
    """Look something up."""
    ran.append(key)
    return f"saw {key}"


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


def run(*hooks, model=None, steps=5, **more):
    """Run a prompt with hooks; return the result, the recorded parts, and the model."""
    model = model or ScriptedModel([call("look", key="a"), "Done."])

    async def work():
        agent = Agent("build", model=model, tools=[look], hooks=hooks, steps=steps, **more)
        async with agent:
            result = await agent.run("go")
            return result, list((await agent._runtimes.acquire(agent.config).load(result.session)).parts.values())

    result, parts = asyncio.run(work())
    return result, parts, model


def call_in(parts):
    return next(part for part in parts if isinstance(part, Call))


def notices(parts):
    return [part.text for part in parts if isinstance(part, Notice) and part.about == "hook"]


def answering(answer):
    return lambda moment: answer


def test_hooks_that_allow_see_every_moment_and_change_nothing():
    seen = []

    async def later(moment):
        seen.append(moment)

    hooks = Hooks(before_call=later, after_call=seen.append, before_request=seen.append, after_request=later)
    result, parts, _ = run(hooks)
    id = call_in(parts).id
    requests = [moment for moment in seen if isinstance(moment, BeforeRequest)]
    replies = [moment for moment in seen if isinstance(moment, AfterRequest)]
    assert [moment for moment in seen if isinstance(moment, (BeforeCall, AfterCall))] == [
        BeforeCall("look", id, {"key": "a"}),
        AfterCall("look", id, failed=False, output="saw a"),
    ]
    assert [type(moment).__name__ for moment in seen] == [
        *("BeforeRequest", "AfterRequest", "BeforeCall", "AfterCall", "BeforeRequest", "AfterRequest")
    ]
    assert [(each.purpose, each.step, each.tools) for each in requests] == [
        ("step", 1, ("look",)),
        ("step", 2, ("look",)),
    ]
    assert [message.text for message in requests[0].messages] == ["go"]
    assert [(each.reply.text, [made.name for made in each.reply.calls]) for each in replies] == [
        ("", ["look"]),
        ("Done.", []),
    ]
    assert replies[0].usage.total > 0 and [each.model for each in replies] == [*result.models, *result.models]
    assert (result.output, notices(parts)) == ("Done.", [])


def test_a_hook_changes_arguments_and_the_original_stands_beside_them():
    second = []
    change = Hooks(before_call=answering(Change({"key": "b"})))
    _, parts, model = run(change, Hooks(before_call=second.append))
    made = call_in(parts)
    assert (made.arguments, made.changed, made.state.output, ran) == ('{"key":"a"}', '{"key":"b"}', "saw b", ["b"])
    assert [moment.arguments for moment in second] == [{"key": "b"}]
    assert 'changed to {"key":"b"}' in model.requests[1].messages[-1].text
    assert notices(parts) == ["before_call: a hook changed the arguments of look"]


def test_changed_arguments_are_validated_and_judged_again():
    _, parts, _ = run(Hooks(before_call=answering(Change({"key": ["no"]}))))
    assert "do not fit look" in call_in(parts).state.output
    needs = tool(needs=lambda key: key)(look.function)
    rules = [Rule("python", "*", "allow"), Rule("python", "secret", "deny")]
    model = ScriptedModel([call("look", key="a"), "Done."])
    agent = Agent(
        model=model, tools=[needs], permission=rules, hooks=[Hooks(before_call=answering(Change({"key": "secret"})))]
    )
    result = agent.run_sync("go")
    assert "the rules deny python for secret" in result.messages[2].text and ran == []


def test_a_hook_refuses_a_call_and_the_model_reads_why():
    _, parts, model = run(Hooks(before_call=answering(Refuse("not on Sundays")), tool="lo*"))
    state = call_in(parts).state
    assert isinstance(state, Refused) and state.refusal.name == "hook" and ran == []
    assert model.requests[1].messages[-1].text == "not executed: a hook refused it: not on Sundays"
    _, parts, _ = run(Hooks(before_call=answering(Refuse("not on Sundays")), tool="other*"))
    assert isinstance(call_in(parts).state, Done)


@dataclass
class Found:
    key: str


@pytest.mark.parametrize(
    "output, text",
    [("from the cache", "from the cache"), (Found("a"), '{"key":"a"}'), (Output("as text"), "as text")],
)
def test_a_hook_gives_the_output_and_the_call_does_not_run(output, text):
    result, parts, model = run(Hooks(before_call=answering(Replace(output))))
    state = call_in(parts).state
    assert isinstance(state, Done) and state.by == "hook" and text in state.output
    assert (ran, result.tool_calls, result.reason) == ([], 0, "answered")
    assert text in model.requests[1].messages[2].text
    assert notices(parts) == ["before_call: a hook gave the output of look, which did not run"]


def test_a_refusal_wins_over_an_output_and_over_a_change():
    answers = [Replace("cached"), Refuse("no"), Change({"key": "b"})]
    _, parts, _ = run(*(Hooks(before_call=answering(answer)) for answer in answers))
    assert (call_in(parts).state.output, call_in(parts).changed) == ("not executed: a hook refused it: no", "")


def test_a_hook_replaces_or_withholds_an_output():
    _, parts, model = run(Hooks(after_call=answering(Replace("nothing to see"))))
    assert (call_in(parts).state.output, call_in(parts).state.by) == ("nothing to see", "hook")
    assert model.requests[1].messages[-1].text == "nothing to see"
    assert notices(parts) == ["after_call: a hook replaced the output of look"]
    _, parts, model = run(Hooks(after_call=answering(Refuse("it has a key in it"))))
    assert isinstance(call_in(parts).state, Failed)
    assert model.requests[1].messages[-1].text == "withheld by a hook: it has a key in it"
    _, parts, _ = run(Hooks(after_call=answering(Replace("saw a"))))
    assert (call_in(parts).state.by, notices(parts)) == ("tool", [])


def test_a_refused_request_ends_the_turn_and_says_why():
    model = ScriptedModel(["never"])
    result, parts, _ = run(Hooks(before_request=answering(Refuse("over quota"))), model=model)
    assert (result.reason, result.detail) == ("error", "a hook refused the request: over quota")
    (request,) = [part for part in parts if isinstance(part, Request)]
    assert request.state == Broken("a hook refused the request: over quota", by="hook")
    assert [part.reason for part in parts if isinstance(part, Halt)] == ["error"]
    assert (model.requests, result.tokens, result.cost) == ([], 0, 0.0)


def test_a_hook_gives_the_reply_and_the_model_is_not_asked():
    def once(moment):
        look_first = ModelReply("I look.", (ToolCall("look", '{"key":"c"}'),))
        return Replace(look_first) if moment.step == 1 else None

    model = ScriptedModel(["never", "Done."], price=Price(1.0, 1.0))
    result, parts, _ = run(Hooks(before_request=once), model=model)
    assert (ran, result.output, len(model.requests)) == (["c"], "Done.", 1)
    given, asked = [part.state for part in parts if isinstance(part, Request)]
    assert isinstance(given, Replied) and (given.by, given.usage.total, given.cost) == ("hook", 0, 0.0)
    assert (asked.by, asked.usage.total) == ("model", result.tokens)
    assert notices(parts) == ["before_request: a hook gave the reply, and the model was not asked"]
    assert [message.text for message in model.requests[0].messages] == ["go", "I look.", "saw c"]


def test_a_given_reply_may_be_a_typed_answer():
    model = ScriptedModel(["never"])
    agent = Agent(model=model, output=Found, hooks=[Hooks(before_request=answering(Replace(Found("cached"))))])
    assert (agent.run_sync("go").output, model.requests) == (Found("cached"), [])


def test_a_hook_replaces_or_refuses_a_reply_which_is_paid_all_the_same():
    async def work(answer):
        following, shown, events = asyncio.Event(), asyncio.Event(), []

        async def wait(moment):
            await following.wait()

        async def late(moment):
            await shown.wait()
            return answer

        model = ScriptedModel([Reply(text="the key is 4711", chunk=4)], price=Price(1.0, 1.0))
        async with Agent(model=model, hooks=[Hooks(before_request=wait, after_request=late)]).stream("go") as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, StepStartEvent):
                    following.set()
                if isinstance(event, DeltaEvent):
                    shown.set()
            return events, stream.result

    events, result = asyncio.run(work(Replace("the key is ****")))
    assert (result.output, result.tokens > 0, result.messages[-1].text) == ("the key is ****", True, "the key is ****")
    kinds = [type(event) for event in events]
    assert [event.text for event in events if isinstance(event, TextEvent)] == ["the key is ****"]
    assert kinds.index(RemovedEvent) < kinds.index(TextEvent)
    events, result = asyncio.run(work(Refuse("a key")))
    assert (result.reason, result.detail, result.cost > 0) == ("error", "a hook refused the reply: a key", True)
    assert "4711" not in result.text


def test_the_reply_of_the_last_hook_counts():
    seen = []
    hooks = [
        Hooks(after_request=answering(Replace("one"))),
        Hooks(after_request=lambda moment: seen.append(moment.reply.text) or Replace("two")),
    ]
    result, _, _ = run(*hooks, model=ScriptedModel(["zero"]))
    assert (result.output, seen) == ("two", ["one"])


@pytest.mark.parametrize("place", ["before_call", "after_call", "before_request", "after_request"])
def test_an_exception_is_logged_and_nothing_happens_unguarded(place, caplog):
    def broken(moment):
        raise ValueError("the guard is out")

    result, _, model = run(Hooks(**{place: broken}))
    assert "Traceback" in caplog.text and "the guard is out" in caplog.text
    told = {
        "before_call": "not executed: a hook refused it: the guard is out",
        "after_call": "saw a\n\n[a hook says: the guard is out]",
    }
    if place in told:
        assert (result.reason, model.requests[1].messages[-1].text) == ("answered", told[place])
        assert ran == ([] if place == "before_call" else ["a"])
    else:
        what = "request" if place == "before_request" else "reply"
        assert (result.reason, result.detail) == ("error", f"a hook refused the {what}: the guard is out")


@pytest.mark.parametrize(
    "place, answer",
    [("before_call", "no"), ("after_call", Change({})), ("before_request", Change({})), ("after_request", True)],
)
def test_an_answer_that_makes_no_sense_refuses(place, answer):
    result, parts, _ = run(Hooks(**{place: answering(answer)}))
    told = call_in(parts).state.output if "call" in place else result.detail
    assert f"which is no answer {place}" in told


def test_a_hook_that_hangs_refuses_once_its_time_is_up():
    async def hangs(moment):
        await asyncio.Event().wait()

    _, parts, _ = run(Hooks(before_call=hangs, seconds=0.05))
    assert call_in(parts).state.output == "not executed: a hook refused it: the hook 'hangs' took too long"
    result, _, _ = run(Hooks(before_request=hangs, seconds=0.05))
    assert result.detail == "a hook refused the request: the hook 'hangs' took too long"


@pytest.mark.parametrize("place", ["before_call", "after_call", "before_request", "after_request"])
def test_an_abort_ends_a_hook_and_nothing_runs_after_it(place):
    async def work():
        reached, cancelled = asyncio.Event(), []

        async def hangs(moment):
            reached.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(place)
                raise

        agent = Agent(
            model=ScriptedModel([call("look", key="a"), "Done."]), tools=[look], hooks=[Hooks(**{place: hangs})]
        )
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            await reached.wait()
            await runtime.abort(session)
            return await runtime.wait(session, prompt), cancelled

    result, cancelled = asyncio.run(work())
    assert (result.reason, cancelled) == ("aborted", [place])
    assert ran == (["a"] if place == "after_call" else [])


@dataclass
class Desk:
    name: str
    seen: list = field(default_factory=list)


def test_hooks_get_the_context_of_the_turn():
    def before(ctx: Context[Desk], moment):
        ctx.deps.seen.append((ctx.deps.name, ctx.agent, ctx.metadata, ctx.call == moment.call, ctx.epoch > 0))

    async def request(ctx: Context[Desk], moment):
        ctx.deps.seen.append((moment.purpose, ctx.call))

    model = ScriptedModel([call("look", key="a"), "Done."])
    agent = Agent[Desk, str](
        "clerk", model=model, tools=[look], hooks=[Hooks(before_call=before, before_request=request)]
    )
    desk = Desk("front")
    agent.run_sync("go", deps=desk, metadata={"user": 7})
    assert desk.seen == [("step", ""), ("front", "clerk", {"user": 7}, True, True), ("step", "")]
    with pytest.raises(ConfigError, match="deps are missing"):
        agent.run_sync("go")


def test_each_agent_of_a_tree_has_its_own_hooks():
    seen = []

    def noting(name):
        return Hooks(
            before_request=lambda moment: seen.append(name), before_call=lambda moment: seen.append(moment.tool)
        )

    scout = Agent("scout", description="looks", model=ScriptedModel(["found"], ref="s"), hooks=[noting("scout")])
    start = call("task", description="look", prompt="look", subagent_type="scout")
    lead = Agent("lead", model=ScriptedModel([start, "done"], ref="l"), subagents=[scout], hooks=[noting("lead")])
    assert lead.run_sync("go").output == "done"
    assert seen == ["lead", "task", "scout", "lead"]


@pytest.mark.parametrize(
    "hooks, problem",
    [
        ([print], r"hooks\[0\] must be Hooks"),
        ([Hooks(before_call=lambda: None)], "before_call takes the moment"),
        ([Hooks(before_call="no")], "before_call takes the moment"),
        ([Hooks(seconds=0)], "seconds must be more than 0"),
    ],
)
def test_hooks_that_cannot_work_are_found_when_the_agent_is_made(hooks, problem):
    with pytest.raises(ConfigError, match=problem):
        Agent("x", model=ScriptedModel(["hi"]), hooks=hooks)
