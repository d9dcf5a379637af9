"""What models, tools, files and other processes may do to a turn: it ends with a word, and nothing is lost."""

import asyncio
import os
import time

import pytest
from support.stories import tell

from bridle import Agent, ConfigError, Limits, Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition as Definition, ModelInfo
from bridle.core.events import PartGrown, SessionInfo
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.parts import Text
from bridle.core.states import Usage
from bridle.core.stream import StepEnd, StreamEnd, TextDelta, ToolCall, ToolResult
from bridle.journal.commits import CHECKPOINT_COMMITS
from bridle.journal.memory import MemoryJournal
from bridle.journal.sqlite import SqliteJournal
from bridle.testing.scripted import ScriptedCall, ScriptedError
from bridle.tools.registry import builtin_tools

HALF = "half \ud800 of a character"


@pytest.fixture
def agent(tmp_path, tmp_path_factory):
    """An agent with the built-in tools on a real journal."""
    kept = tmp_path_factory.mktemp("kept") / "j.db"

    def make(*replies, **more):
        model = replies[0] if len(replies) == 1 and hasattr(replies[0], "stream") else ScriptedModel(list(replies))
        given = {"tools": builtin_tools(), "on_ask": "allow", "directory": tmp_path, "journal": kept}
        return model, Agent(model=model, **{**given, **more})

    return make


ARGUMENTS = [
    '{"filePath": "~nosuchuser/x"}',
    '{"filePath": "a\\u0000b"}',
    '{"filePath": "\\ud800"}',
    '{"filePath": "' + "x" * 5_000 + '"}',
    '{"filePath": "/proc/self/mem"}',
    "{" * 5_000,
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda text: text[:30])
def test_arguments_that_make_no_sense_end_their_call_and_not_the_turn(agent, arguments):
    _, made = agent(ScriptedCall("read", arguments), "done")
    assert made.run_sync("go").reason == "answered"


def test_half_characters_from_everywhere_are_written_with_a_mark(agent, tmp_path):
    @tool
    def odd() -> str:
        """Say something odd."""
        return HALF

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "plain.txt").touch()
    (tmp_path / "folder" / os.fsdecode(b"\xff.txt")).touch()
    model, made = agent(
        Reply(text=HALF, reasoning=HALF, calls=(call("odd"), call("read", filePath="folder"))),
        "done",
        tools=[*builtin_tools(), odd],
    )
    result = made.run_sync(HALF)
    texts = [message.text for message in model.requests[-1].messages]
    assert result.reason == "answered"
    assert texts[:3] == ["half ? of a character"] * 3
    assert texts[3] == "plain.txt\n?.txt"


@pytest.mark.parametrize(
    ("raised", "plain"),
    [
        (SystemExit(3), True),
        (SystemExit(3), False),
        (asyncio.CancelledError(), False),
        (BaseExceptionGroup("many", [SystemExit()]), False),
    ],
    ids=["exit in a thread", "exit", "cancellation", "group"],
)
def test_whatever_a_tool_raises_the_turn_goes_on(raised, plain):
    def bad() -> str:
        """Raise."""
        raise raised

    async def bad_async() -> str:
        """Raise."""
        raise raised

    model = ScriptedModel([call("bad"), "done"])
    result = Agent(model=model, tools=[tool(bad if plain else bad_async, name="bad")]).run_sync("go")
    assert (result.reason, result.tool_calls) == ("answered", 1)
    assert model.requests[-1].messages[-1].failed


class Odd:
    """A model that breaks its contract."""

    def __init__(self, how):
        self.how = how

    def stream(self, request):
        if self.how == "at once":
            raise RuntimeError("odd")
        return self._stream()

    async def _stream(self):
        try:
            yield TextDelta("a")
            if self.how == "raises":
                raise RuntimeError("odd")
            if self.how == "cancels itself":
                raise asyncio.CancelledError
            yield StepEnd("stop", Usage(1, 1))
            yield StreamEnd()
        finally:
            if self.how == "raises as it closes":
                raise RuntimeError("odd")


@pytest.mark.parametrize("how", ["at once", "raises", "cancels itself", "raises as it closes"])
def test_a_model_that_breaks_its_contract_ends_the_turn_with_a_word(how):
    result = Agent(model=Odd(how)).run_sync("go")
    assert result.reason in ("error", "answered")
    assert result.reason == "error" or how == "raises as it closes"


def test_a_call_that_the_provider_ran_with_broken_arguments_stays_valid_history():
    class Provider:
        async def stream(self, request):
            if request.id.startswith("1.1."):
                yield ToolCall("web", "not json", "p")
                yield ToolResult("p", "found")
            yield TextDelta("so")
            yield StepEnd("stop", Usage(1, 1))
            yield StreamEnd()

    result = Agent(model=Provider()).run_sync("go")
    assert (result.reason, result.steps, result.tool_calls) == ("answered", 2, 0)


def test_an_abort_does_not_wait_for_an_effect_that_resists():
    @tool
    async def stubborn() -> str:
        """Refuse to stop."""
        while True:
            try:
                await asyncio.sleep(1_000)
            except asyncio.CancelledError:
                continue

    times = []

    async def people(runtime, session, prompt):
        await asyncio.sleep(3)
        begun = asyncio.get_running_loop().time()
        await runtime.abort(session)
        await runtime.wait(session, prompt)
        times.append(asyncio.get_running_loop().time() - begun)
        for task in asyncio.all_tasks():
            if "stubborn" in repr(task) or "_invoke" in repr(task):
                task._coro.close()

    story = tell(ScriptedModel([call("stubborn"), "never"]), tools=[stubborn], people=people)
    assert (story.result.reason, times[0] < 2) == ("aborted", True)


def test_a_model_that_will_not_stop_is_left_alone_with_its_words():
    class Deaf:
        info = ModelInfo("deaf")
        requests = ()
        asked = 0

        async def stream(self, request):
            self.asked += 1
            number = self.asked
            for _ in range(10):
                try:
                    await asyncio.sleep(400 if number == 1 else 100)
                except asyncio.CancelledError:
                    assert number == 1
                yield TextDelta(f"{number} ")
            yield StepEnd("stop", Usage(1, 1))
            yield StreamEnd()

    model, journal = Deaf(), MemoryJournal()
    story = tell(model, journal=journal)
    assert (story.result.reason, story.result.text, model.asked) == ("answered", "2 " * 10, 2)
    assert [part.text for part in story.parts(Text)] == ["2 " * 10]
    # While the first one still talks to itself, the words of the second are recorded as they come.
    entries = asyncio.run(journal.load(story.result.session))
    grown = [event.text for entry in entries for event in entry.events if isinstance(event, PartGrown)]
    assert grown == ["2 "] * 9


def test_a_command_that_leaves_its_group_holds_up_no_abort(agent, tmp_path):
    _, made = agent(call("bash", command="setsid sleep 20 & echo $! > pid; sleep 60"), "never")

    async def work():
        async with made.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=made.turn_options)
            while not (tmp_path / "pid").exists():
                await asyncio.sleep(0.02)
            begun = time.monotonic()
            await runtime.abort(session)
            result = await runtime.wait(session, prompt)
            return result.reason, time.monotonic() - begun

    reason, seconds = asyncio.run(work())
    assert (reason, seconds < 10) == ("aborted", True)


def test_an_abort_that_follows_its_prompt_at_once_ends_that_turn():
    async def work():
        model = ScriptedModel([Reply(text="slow", delay=30)])
        async with Agent(model=model).runtime() as runtime:
            session = await runtime.create()
            await runtime.journal.submit(session, PromptItem("p", "go"))
            await runtime.abort(session)
            return await asyncio.wait_for(runtime.wait(session, "p"), 60)

    assert asyncio.run(work()).reason == "aborted"


def test_a_retry_wait_ends_with_the_turns_time():
    busy = Reply(error=ScriptedError("busy", 429, {"retry-after": "100"}))
    story = tell(ScriptedModel([busy, "closed"]), limits=Limits(seconds=10))
    assert (story.result.reason, story.result.text) == ("time_budget", "closed")
    assert story.result.seconds <= 10
    again = tell(ScriptedModel([Reply(text="x", delay=19)], then=busy), limits=Limits(seconds=20))
    assert (again.result.reason, again.result.seconds <= 21) == ("time_budget", True)


TALK = [
    ("late", [Reply(hang=True)], Limits(seconds=10), "time_budget"),
    ("chanting", [Reply(text="I will say this again and again, my dear friend. " * 40, chunk=20)], None, "doom_loop"),
    ("only calls", [call("look"), call("look")], None, "empty"),
    ("no calls allowed", ["fine"], Limits(tool_calls=0), "answered"),
    (
        "no room for a retry",
        [Reply(text="half " * 900, error=ScriptedError("x", 503))],
        Limits(tokens=2_500),
        "token_budget",
    ),
]


@pytest.mark.parametrize(("name", "replies", "limits", "reason"), TALK, ids=[row[0] for row in TALK])
def test_an_agent_that_only_talks_tells_the_truth_too(name, replies, limits, reason):
    story = tell(ScriptedModel(replies), steps=0, limits=limits)
    assert story.result.reason == reason


def test_words_before_calls_are_not_the_answer_when_no_closing_request_was_affordable():
    model = ScriptedModel(
        lambda r: Reply(text="I will look.", calls=(call("look", key=r.id),), usage=Usage(4_000, 900))
    )
    story = tell(model, limits=Limits(tokens=9_500))
    assert story.result.reason == "token_budget"
    assert story.result.text != "I will look."


def test_a_tree_of_three_steps_keeps_the_third_for_closing():
    async def work():
        model = ScriptedModel(lambda r: call("look") if r.tool_choice == "auto" else "closed")
        settings = Settings(tree=TreeSettings(steps=3))
        agents = [Definition("build", model="m")]
        async with Runtime(RuntimeConfig(settings=settings, models={"m": model}, agents=agents)) as runtime:
            session = await runtime.create()
            return await runtime.wait(session, await runtime.prompt(session, "go"))

    result = asyncio.run(work())
    assert (result.reason, result.steps, result.text, result.exit_status) == ("tree_budget", 3, "closed", 3)


@pytest.mark.parametrize("limits", [{"steps": -5}, {"tokens": 1.5}, {"cost": float("nan")}, {"seconds": 0}], ids=str)
def test_nonsense_in_a_prompts_own_limits_is_refused_before_it_is_recorded(limits):
    async def work():
        async with Agent(model=ScriptedModel(["hi"])).runtime() as runtime:
            session = await runtime.create()
            with pytest.raises(ConfigError, match=next(iter(limits))):
                await runtime.prompt(session, "go", options=TurnOptions(limits=limits))
            assert await runtime.waiting_prompts(session) == []
            with pytest.raises(ConfigError, match="must not be negative"):
                await runtime.extend(session, "steps", -3)

    asyncio.run(work())


def test_a_turn_whose_model_is_gone_can_still_be_aborted():
    look = tool(seen, name="look", permission="external_directory")

    async def work():
        store = MemoryJournal()
        agents = [Definition("build", model="m")]
        first = Runtime(
            RuntimeConfig(journal=store, models={"m": ScriptedModel([call("look")])}, agents=agents, tools=[look])
        )
        session = await first.create()
        prompt = await first.prompt(session, "go", options=TurnOptions(on_ask="pause"))
        assert (await first.wait(session, prompt)).reason == "paused"
        second = Runtime(RuntimeConfig(journal=store))
        await second.abort(session)
        return await second.wait(session, prompt)

    assert asyncio.run(work()).reason == "aborted"


def seen() -> str:
    """See."""
    return "seen"


def test_a_session_may_change_its_model_and_lives_as_long_as_its_agent():
    journal = MemoryJournal()
    first = Agent(model=ScriptedModel(["one", "one again"], ref="a"), journal=journal)
    begun = first.run_sync("go")
    assert first.run_sync("again", session=begun.session).text == "one again"
    second = Agent(model=ScriptedModel(["two"], ref="b"), journal=journal)
    result = second.run_sync("more", session=begun.session)
    assert (result.reason, result.text, result.turn) == ("answered", "two", 3)


class TestSharedCommits:
    """Commits that wait together are committed together, and fail alone."""

    def run(self, tmp_path, items):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db")
            for name in "abc":
                await journal.create(SessionInfo(f"ses_{name}", "/p"))
            # A commit that is under way makes all others wait for it, and then go together.
            journal._commits._commits = CHECKPOINT_COMMITS
            submits = (journal.submit(f"ses_{name}", item) for name, item in zip("abc", items, strict=True))
            outcomes = await asyncio.gather(*submits, return_exceptions=True)
            kept = [len(await journal.inbox(f"ses_{name}")) for name in "abc"]
            assert await journal.submit("ses_a", PromptItem("later", "still works"))
            await journal.close()
            return outcomes, kept

        return asyncio.run(work())

    def test_a_job_that_fails_takes_no_other_with_it(self, tmp_path):
        items = [PromptItem("p", "one"), PromptItem("p", HALF), PromptItem("p", "three")]
        outcomes, kept = self.run(tmp_path, items)
        assert [outcome is True for outcome in outcomes] == [True, False, True]
        assert kept == [1, 0, 1]
