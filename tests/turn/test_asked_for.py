"""What the seeds ask for in passing: words of the closing, marks, moments, layers and who is asked about what."""

import asyncio

import msgspec
import pytest
from support.stories import look, poll, tell
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.config.agents import builtin_agents
from bridle.config.settings import (
    Behavior,
    LimitSettings,
    ModelSettings,
    PromptSettings,
    SandboxSettings,
)
from bridle.core.agent import AgentDefinition as Definition
from bridle.core.compaction import compact_at
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Sentinel, StepStart, TurnStart
from bridle.core.permission import Access, Rule
from bridle.tools.registry import builtin_tools
from bridle.values.provider import Provider

OFF = SandboxSettings(mode="off")
TODOS = {
    "todos": [
        {"content": "feed", "status": "completed"},
        {"content": "saddle"},
        {"content": "ride", "status": "in_progress"},
    ]
}


def test_the_closing_instruction_says_what_was_reached_and_what_is_wanted():
    story = tell(ScriptedModel([call("look", key="a"), "Closed."]), steps=2)
    asked = story.model.requests[-1].messages[-1].text
    for words in (
        "Step limit reached (2/2)",
        "Tools are off for the rest of this turn",
        "any call you make now will not be run",
        "Answer in text only",
        "say that this limit was reached",
        "what was done so far",
        "what remains",
        "what you would do next",
    ):
        assert words in asked


def test_the_closing_instruction_may_be_a_file_of_the_users(tmp_path):
    (tmp_path / "closing.md").write_text("Whoa, {limit}! Say goodbye.")
    settings = Settings(prompts=PromptSettings(closing=str(tmp_path / "closing.md")))
    story = tell(ScriptedModel([call("look", key="a"), "Goodbye."]), steps=2, settings=settings)
    assert story.model.requests[-1].messages[-1].text == "Whoa, Step limit reached (2/2)! Say goodbye."


@pytest.mark.parametrize(("steps", "limits"), [(2, Limits()), (None, Limits(tool_calls=1))], ids=["steps", "calls"])
def test_a_sentinel_of_any_limit_is_marked_cap_hit(steps, limits):
    story = tell(ScriptedModel([call("look", key="a")], then="Closed."), steps=steps, limits=limits)
    if steps is None:
        story = tell(ScriptedModel([call("look", key="a"), call("look", key="b")], then="Closed."), limits=limits)
    assert [sentinel.mark for sentinel in story.parts(Sentinel)] == ["cap_hit"]


def test_each_step_is_recorded_with_its_number_and_its_moment():
    model = ScriptedModel([call("poll", key="a"), call("poll", key="b"), "Done."])

    async def work():
        agent = Agent("build", model=model, tools=[poll])
        async with agent.runtime() as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            return await runtime.journal.load(session)

    entries = asyncio.run(work())
    begun = [
        (event.part.number, entry.at)
        for entry in entries
        for event in entry.events
        if isinstance(getattr(event, "part", None), StepStart)
    ]
    assert [number for number, _ in begun] == [1, 2, 3]
    moments = [at for _, at in begun]
    assert moments == sorted(moments) and moments[0] > 1_700_000_000


def test_the_defaults_are_as_they_are_written_down():
    agents = builtin_agents()
    assert {name: agent.steps for name, agent in agents.items() if agent.steps} == {"refactorer": 5, "architect": 20}
    assert (Settings().limits.tool_calls, Settings().limits.subagent_tool_calls) == (200, 50)
    assert Settings().behavior == Behavior(None, 200)


@pytest.mark.parametrize(
    ("agent", "cap", "calls"), [("refactorer", 5, 200), ("architect", 20, 200), ("build", 200, 200)]
)
def test_a_prompt_may_name_another_agent_and_the_session_keeps_it(agent, cap, calls, tmp_path):
    model = ScriptedModel(["One.", "Two.", "Three."])

    async def work():
        async with Runtime(
            RuntimeConfig(settings=Settings(sandbox=OFF), models={"m": model}, directory=tmp_path)
        ) as runtime:
            session = await runtime.create()
            for options in (TurnOptions(agent=agent, model="m"), None):
                await runtime.wait(session, await runtime.prompt(session, "go", options=options))
            parts = (await runtime.load(session)).parts.values()
            return [part for part in parts if isinstance(part, TurnStart)]

    starts = asyncio.run(work())
    assert [(start.agent, start.cap, start.limits.tool_calls) for start in starts] == [(agent, cap, calls)] * 2


def test_a_session_is_busy_while_a_turn_runs_and_idle_after_it():
    async def people(runtime, session, prompt):
        await runtime.seams.sleep(1.0)
        seen.append((await runtime.status(session)).state)
        await runtime.wait(session, prompt)
        await runtime.parked(session)
        seen.append((await runtime.status(session)).state)

    seen = []
    story = tell(ScriptedModel([Reply(text="Done.", delay=5.0)]), people=people)
    assert (seen, story.result.reason) == (["busy", "idle"], "answered")


def test_the_ask_of_a_doom_loop_names_the_tool_and_its_arguments():
    same = [call("look", key="a")] * 4

    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        asks.extend(result.asks)
        await runtime.answer(session, result.asks[0].id, "reject")

    asks = []
    tell(ScriptedModel(same, then="Done."), options=TurnOptions(on_ask="pause"), people=people)
    assert [(ask.accesses, ask.detail) for ask in asks] == [((Access("doom_loop", "look"),), '{"key":"a"}')]


@pytest.mark.parametrize(("tool", "reason"), [("look", "answered"), ("poll", "doom_loop")])
def test_a_rule_about_doom_loops_may_name_one_tool(tool, reason):
    rule = Rule("doom_loop", tool, "allow")
    story = tell(ScriptedModel([call("look", key="a")] * 4, then="Done."), permission=[rule])
    assert story.result.reason == reason


def test_a_tool_that_the_rules_deny_outright_is_not_offered():
    offered = []
    for permission in ([], [Rule("python", "*", "deny")]):
        story = tell(ScriptedModel(["Hi."]), permission=permission)
        offered.append([spec.name for spec in story.model.requests[0].tools])
    assert ("look" in offered[0], offered[1]) == (True, [])


def test_the_users_own_words_and_the_providers_stand_at_both_ends_of_the_system_prompt():
    settings = Settings(
        prompts=PromptSettings(system="The user's own words."), providers={"scripted": Provider(header="The header.")}
    )
    story = tell(ScriptedModel(["Hi."]), settings=settings, options=TurnOptions(system="Of this call."))
    system = story.model.requests[0].system
    assert system.startswith("The header.") and system.endswith("Of this call.\n\nThe user's own words.")


def test_options_are_the_providers_then_the_models_then_the_agents_then_the_variants():
    model = ScriptedModel(["Hi."])
    every = ("a", "b", "c", "d")
    model.info = msgspec.structs.replace(model.info, options=dict.fromkeys(every, "provider"))
    settings = Settings(
        sandbox=OFF,
        models={
            "m": ModelSettings(options=dict.fromkeys(every[1:], "model"), variants={"high": {"d": "variant"}}),
        },
    )

    async def work():
        definition = Definition("mine", options=dict.fromkeys(every[2:], "agent"))
        async with Runtime(RuntimeConfig(settings=settings, models={"m": model}, agents=[definition])) as runtime:
            session = await runtime.create()
            options = TurnOptions(agent="mine", model="m", variant="high")
            await runtime.wait(session, await runtime.prompt(session, "go", options=options))

    asyncio.run(work())
    assert dict(model.requests[0].options) == {"a": "provider", "b": "model", "c": "agent", "d": "variant"}


def test_a_context_is_compacted_above_85_percent_of_the_window_or_where_no_reply_fits():
    assert (compact_at(100_000, 1_024), compact_at(1_000, 400)) == (85_000, 600)


def test_the_text_that_bridle_writes_names_what_is_still_to_be_done():
    todos = next(tool for tool in builtin_tools() if tool.spec.name == "todowrite")
    defiant = [call("todowrite", **TODOS), call("look", key="a")]
    story = tell(ScriptedModel(defiant, then=call("look", key="b")), steps=3, tools=(look, todos))
    assert story.result.reason == "step_cap"
    assert "Still to be done: saddle; ride." in story.result.text.splitlines()
    assert len([made for made in story.parts(Call) if made.name == "todowrite"]) == 1


def test_nobody_is_asked_about_an_edit_that_cannot_be_made(tmp_path):
    (tmp_path / "horse.py").write_text("trot\n")
    named = {tool.spec.name: tool for tool in builtin_tools()}
    replies = [
        call("read", filePath="horse.py"),
        call("edit", filePath="horse.py", oldString="gallop", newString="walk"),
        call("edit", filePath="horse.py", oldString="trot", newString="walk"),
    ]
    story = tell(
        ScriptedModel(replies),
        tools=(named["read"], named["edit"]),
        permission=(Rule("edit", "*", "ask"),),
        options=TurnOptions(on_ask="pause"),
        directory=tmp_path,
    )
    assert story.calls == [("read", "done"), ("edit", "invalid"), ("edit", "asking")]
    assert (story.result.reason, len(story.result.asks)) == ("paused", 1)
    assert "+walk" in story.result.asks[0].diff.splitlines()


def test_a_long_output_of_the_session_is_read_outside_of_the_project_and_nothing_else_there(tmp_path):
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "other.txt").write_text("somebody else's")
    read = next(tool for tool in builtin_tools() if tool.spec.name == "read")

    @tool
    async def flood() -> str:
        """Say much."""
        return "\n".join(f"line {n}" for n in range(5_000))

    def play(request):
        told = request.messages[-1].text
        if len(request.messages) == 1:
            return call("flood")
        if "the whole is in " in told:
            path = told.split("the whole is in ")[1].split("]")[0]
            return [call("read", filePath=path, limit=2), call("read", filePath=str(tmp_path / "outputs/other.txt"))]
        return "done"

    async def work(seams):
        async with Runtime(
            RuntimeConfig(
                models={"m": ScriptedModel(play)},
                agents=[Definition("build", model="m")],
                tools=[flood, read],
                directory=tmp_path / "project",
                outputs=tmp_path / "outputs",
                seams=seams,
            )
        ) as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            return [part.state for part in (await runtime.load(session)).parts.values() if isinstance(part, Call)]

    _, own, other = run_virtually(work)
    assert "line 0" in own.output
    assert (other.refusal.name, "somebody" in other.output) == ("unasked", False)


def test_where_calls_are_not_limited_a_step_may_make_more_than_the_usual_number():
    many = [call("look", key=str(n)) for n in range(201)]
    limited = tell(ScriptedModel([many], then="done"))
    assert (limited.result.reason, len(limited.ran)) == ("tool_budget", 200)
    settings = Settings(limits=LimitSettings(tool_calls=None))
    free = tell(ScriptedModel([many], then="done"), settings=settings)
    assert (free.result.reason, len(free.ran)) == ("answered", 201)
