"""Two thousand steps in one turn: a dozen compactions, valid requests, and the last step as cheap as the first."""

import asyncio
import inspect
import itertools
import statistics
import sys
from pathlib import Path

import pytest

import bridle
from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import Behavior, LimitSettings, Settings, TreeSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.messages import UserMessage
from bridle.core.parts import Compaction
from bridle.core.states import Usage
from bridle.core.stream import StepEnd, StreamEnd, TextDelta, ToolCall
from bridle.testing.validators import problems

SOURCE = str(Path(bridle.__file__).parent)
SUSPENDABLE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR
LEFT_OUT = ("core/messages.py", "journal/sync.py", "seams.py")
STEPS = 2_000
WINDOW = 84_000
PROMPT = "Count to two thousand, and keep the door shut."


@tool
async def count(number: int) -> str:
    """Count."""
    return f"{number} " + "counted " * 150


class Counting:
    """A model that counts its tokens as a provider would, and keeps nothing."""

    info = ModelInfo("counting", context_window=WINDOW, max_output_tokens=2_048)

    def __init__(self, path):
        self.path = path
        self.calls = self.steps = self.worst = 0
        self.marks, self.memory, self.disk = [], {}, {}

    async def stream(self, request):
        size = (len(request.system) + sum(len(str(message)) for message in request.messages)) // 4
        self.worst = max(self.worst, size + request.max_output_tokens)
        words = [message.text for message in request.messages if isinstance(message, UserMessage)]
        if request.purpose == "compaction":
            yield TextDelta(f"{self.steps} were counted so far.")
        else:
            assert PROMPT in words
            self.steps += 1
            # Reading a long context takes longer than making it: one in five is looked at.
            assert self.steps % 5 or problems(request) == []
            self._mark()
            if self.steps < STEPS:
                yield ToolCall("count", f'{{"number": {self.steps}}}', "call")
            else:
                yield TextDelta("All counted.")
        yield StepEnd("stop", Usage(size, 10))
        yield StreamEnd()

    def _mark(self):
        self.marks.append(self.calls)
        if self.steps in (500, 1_000, STEPS):
            self.memory[self.steps] = int(Path("/proc/self/statm").read_text().split()[1]) * 4_096
            self.disk[self.steps] = sum(path.stat().st_size for path in self.path.parent.glob("journal.db*"))


@pytest.mark.slow
def test_two_thousand_steps_with_twelve_compactions_stay_flat(tmp_path):
    path = tmp_path / "journal.db"
    model = Counting(path)
    settings = Settings(
        behavior=Behavior(ceiling=STEPS + 1), limits=LimitSettings(tool_calls=None), tree=TreeSettings(steps=None)
    )

    def count_calls(frame, event, argument):
        # Reading a context takes longer the longer it is, and that is the model's to do; what Bridle does is counted.
        # A coroutine is "called" whenever it goes on, and a slow disk adds a wait: so neither counts.
        code = frame.f_code
        ours = code.co_filename.startswith(SOURCE) and not code.co_filename.endswith(LEFT_OUT)
        if event == "call" and ours and "/testing/" not in code.co_filename and not code.co_flags & SUSPENDABLE:
            model.calls += 1

    async def work():
        runtime = Runtime(
            RuntimeConfig(
                journal=path,
                settings=settings,
                models={"m": model},
                tools=[count],
                agents=[AgentDefinition("build", model="m")],
            )
        )
        async with runtime:
            session = await runtime.create()
            result = await runtime.wait(session, await runtime.prompt(session, PROMPT))
            return result, await runtime.load(session)

    sys.setprofile(count_calls)
    try:
        result, session = asyncio.run(work())
    finally:
        sys.setprofile(None)
    made = [part for part in session.parts.values() if isinstance(part, Compaction) and part.cause != "prune"]
    assert (result.reason, result.steps, result.text) == ("answered", STEPS, "All counted.")
    assert [part.outcome for part in made] == ["smaller"] * 12
    assert model.worst <= WINDOW
    steps = [after - before for before, after in itertools.pairwise(model.marks)]
    # The median, since a busy machine adds a look at the inbox to some steps and a few steps skip one.
    early, late = statistics.median(steps[20:120]), statistics.median(steps[-120:-20])
    assert late <= 1.05 * early, (early, late)
    assert model.memory[STEPS] - model.memory[500] < 8_000_000, model.memory
    assert model.disk[STEPS] <= 2.2 * model.disk[1_000], model.disk
