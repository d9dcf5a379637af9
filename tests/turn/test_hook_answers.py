"""What hooks may answer: other arguments for a call, another output, other words for a compaction."""

import asyncio
import json

import msgspec
import pytest
from support.hook_story import calls, given, hook, said, told
from support.stories import TOOLS

from bridle import Agent, Rule, ScriptedModel, call
from bridle.config.settings import HookSettings, Settings
from bridle.core.inbox import AnswerItem
from bridle.core.parts import Call
from bridle.core.permission import Access
from bridle.core.states import Done, Refused
from bridle.core.stream import ToolSpec
from bridle.tools.tool import Output, StructTool, loader, struct_schema


def prints(answer, status=0):
    """A command that prints an answer."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return f"printf '%s' '{text}'; exit {status}"


def changing(on="before_call", **answer):
    return {"on": on, "command": prints(answer)}


def run(folder, hooks, *, model=None, **more):
    model = model or ScriptedModel([call("look", key="a"), "Done."])
    session, result = asyncio.run(told(folder, model, hooks, **more))
    return session, result, model


def test_a_hook_changes_the_arguments_and_both_are_recorded(tmp_path):
    session, _, model = run(tmp_path, [changing(arguments={"key": "b"}), hook(tmp_path, "before_call")])
    (made,) = calls(session)
    assert (made.arguments, made.changed) == ('{"key":"a"}', '{"key":"b"}')
    assert isinstance(made.state, Done) and made.state.output == "saw b"
    # A later hook reads what an earlier one made of them; the model and the reader are told.
    assert [each["arguments"] for each in given(tmp_path)] == [{"key": "b"}]
    assert 'the arguments of this call were changed to {"key":"b"}' in model.requests[1].messages[-1].text
    assert model.requests[1].messages[-2].calls[0].arguments == '{"key":"a"}'
    assert said(session) == ["before_call: a hook changed the arguments of look"]


def test_changed_arguments_are_validated(tmp_path):
    session, _, _ = run(tmp_path, [changing(arguments={"key": ["no", "text"]})])
    (made,) = calls(session)
    assert isinstance(made.state, Refused) and made.state.refusal.name == "hook"
    assert "do not fit look" in made.state.output


@pytest.mark.parametrize(
    "answer, wrong",
    [
        ({"arguments": "text"}, "Expected `object`"),
        ({"arguments": {}, "more": 1}, "unknown field `more`"),
        ('{"arguments": {', "no JSON"),
    ],
)
def test_an_answer_that_makes_no_sense_refuses_the_call(tmp_path, answer, wrong):
    session, _, _ = run(tmp_path, [{"on": "before_call", "command": prints(answer)}])
    (made,) = calls(session)
    assert isinstance(made.state, Refused) and made.state.refusal.name == "hook"
    assert wrong in made.state.output


@pytest.mark.parametrize("words", ["", "fine", '{"level": "info"}', "{not json", "[1]"])
def test_other_words_of_a_hook_that_ends_well_change_nothing(tmp_path, words):
    hooks = [{"on": on, "command": prints(words)} for on in ("before_call", "after_call")]
    session, _, model = run(tmp_path, hooks)
    assert [part.state.output for part in calls(session)] == ["saw a"]
    assert (model.requests[1].messages[-1].text, said(session)) == ("saw a", [])


def test_an_answer_of_a_hook_that_fails_does_not_count(tmp_path):
    session, _, _ = run(tmp_path, [{"on": "before_call", "command": prints({"arguments": {"key": "b"}}, status=1)}])
    (made,) = calls(session)
    assert isinstance(made.state, Refused) and made.changed == ""


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "open").write_text("open words")
    (tmp_path / "closed").write_text("closed words")
    return tmp_path


class Named(msgspec.Struct):
    path: str


def reader(folder):
    """A tool whose permission is the path that it reads."""

    async def work(given, invocation):
        return Output((folder / given.path).read_text())

    return StructTool(
        spec=ToolSpec("read", "Read a file.", struct_schema(Named)),
        load=loader(Named),
        work=work,
        permission="read",
        needs=lambda given, directory: (Access("read", given.path),),
    )


def reading(folder, hooks, rules, **more):
    """A model that reads one file, with hooks, under rules for reading."""
    model = ScriptedModel([call("read", path="open"), "Done."])
    permission = [Rule("read", pattern, verdict) for pattern, verdict in rules.items()]
    return run(folder, hooks, model=model, tools=[reader(folder)], permission=permission, **more)


def test_changed_arguments_are_judged_by_the_rules(shelf):
    session, _, _ = reading(shelf, [changing(arguments={"path": "closed"})], {"*": "allow", "closed": "deny"})
    (made,) = calls(session)
    assert isinstance(made.state, Refused) and made.state.refusal.name == "denied"
    assert "closed words" not in made.state.output


@pytest.mark.parametrize("asked", [["closed"], ["open", "closed"]])
def test_changed_arguments_are_asked_about_and_run_as_they_were_approved(shelf, asked):
    seen = []

    async def people(runtime, session):
        while len(seen) < len(asked):
            running = (await runtime.load(session)).running
            for ask in running.asks if running is not None else ():
                if (ask.text, ask.detail) not in seen:
                    seen.append((ask.text, ask.detail))
                    await runtime.journal.submit(session, AnswerItem(f"ans {ask.id}", ask.id, "once"))
                    await runtime.resume(session)
            await asyncio.sleep(0.01)

    # A hook that would change them at every look is not asked again about what a person has approved.
    hooks = [changing(arguments={"path": "closed"}), hook(shelf, "before_call")]
    rules = {"*": "allow", **dict.fromkeys(asked, "ask")}
    session, result, _ = reading(shelf, hooks, rules, people=people)
    (made,) = calls(session)
    assert "closed words" in made.state.output and result.reason == "answered"
    assert seen == [(f"Allow read: {path}?", f'{{"path":"{path}"}}') for path in asked]
    assert len(given(shelf)) == 1


def test_a_subagent_gets_the_prompt_that_a_hook_wrote(tmp_path):
    child = ScriptedModel(lambda request: f"heard: {request.messages[0].text}", ref="child")
    model = ScriptedModel(
        [call("task", description="a piece", prompt="dig", subagent_type="child"), "Done."], ref="root"
    )
    changed = {"description": "a piece", "prompt": "dig deep", "subagent_type": "child"}
    settings = Settings(hooks=[HookSettings(**changing(arguments=changed), tool="task")])
    below = Agent("child", model=child, tools=TOOLS, description="digs")
    agent = Agent("build", model=model, tools=TOOLS, subagents=[below], settings=settings, directory=tmp_path)

    async def work():
        async with agent.runtime() as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            return await runtime.load(session)

    (made,) = [part for part in asyncio.run(work()).parts.values() if isinstance(part, Call)]
    assert "heard: dig deep" in made.state.output


def test_a_hook_replaces_the_output(tmp_path):
    hooks = [changing("after_call", output="nothing to see"), hook(tmp_path, "after_call")]
    session, _, model = run(tmp_path, hooks)
    assert model.requests[1].messages[-1].text == "nothing to see"
    assert [each["output"] for each in given(tmp_path)] == ["nothing to see"]
    assert said(session) == ["after_call: a hook replaced the output of look"]


def test_a_replaced_output_is_capped_like_any_other(tmp_path):
    command = "printf '{\"output\": \"'; head -c 90000 /dev/zero | tr '\\0' x; printf '\"}'"
    session, _, _ = run(tmp_path, [{"on": "after_call", "command": command}])
    (made,) = calls(session)
    assert made.state.output.startswith("xxx") and len(made.state.output) < 60_000


def test_an_answer_about_the_output_that_makes_no_sense_is_told(tmp_path):
    _, _, model = run(tmp_path, [changing("after_call", output=1)])
    assert model.requests[1].messages[-1].text.startswith("saw a\n\n[a hook says: the hook ")


@pytest.mark.parametrize(
    "answer, asked",
    [
        ({"add": "Keep every number."}, lambda words: words.endswith("Keep every number.") and "summary" in words),
        ({"instruction": "Only names: {history}"}, lambda words: words.startswith("Only names: ")),
        ({"instruction": "Only names."}, lambda words: words.startswith("Only names.") and "go" in words),
        ({"instruction": "Names", "add": "and numbers"}, lambda words: words.endswith("and numbers")),
    ],
)
def test_a_hook_changes_what_a_compaction_asks_for(tmp_path, answer, asked):
    session, model = compacted(tmp_path, [changing("before_compaction", **answer), hook(tmp_path, "before_compaction")])
    (request,) = [request for request in model.requests if request.purpose == "compaction"]
    assert asked(request.messages[0].text), request.messages[0].text
    assert said(session) == ["before_compaction: a hook changed the instruction"]
    (seen,) = given(tmp_path)
    assert seen["cause"] == "manual" and ("Keep" in seen["instruction"] or "ames" in seen["instruction"])


@pytest.mark.parametrize(
    "command, words",
    [("echo no; exit 1", "before_compaction: no"), (prints({"add": 1}), "Expected `str`")],
)
def test_a_compaction_goes_on_without_a_hook_that_fails(tmp_path, command, words):
    session, model = compacted(tmp_path, [{"on": "before_compaction", "command": command}])
    assert "compaction" in [request.purpose for request in model.requests]
    assert words in said(session)[0]


def test_a_summary_that_bridle_writes_itself_asks_no_hook(tmp_path):
    session, _ = compacted(tmp_path, [hook(tmp_path, "before_compaction")], summary="")
    assert (len(given(tmp_path)), session.turn.last_compaction.by) == (2, "bridle")


def compacted(folder, hooks, summary="It was done."):
    async def ended(runtime, session, turn):
        while (found := await runtime.load(session)).turns < turn or found.running is not None:
            await asyncio.sleep(0.01)

    async def compact(runtime, session):
        await ended(runtime, session, 1)
        await runtime.compact(session)
        await ended(runtime, session, 2)

    model = ScriptedModel(["Done."], summary=summary)
    session, _ = asyncio.run(told(folder, model, hooks, people=compact))
    return session, model
