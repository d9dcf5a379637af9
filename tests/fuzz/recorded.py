"""Sessions as real turns have recorded them, to begin with."""

from functools import cache
from typing import Any

from support.cut_process import WiredJournal
from support.stories import TOOLS
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, ScriptedModel, call
from bridle.core.events import Entry
from bridle.runtime import Runtime
from bridle.testing.scripted import ScriptedError

SESSION = "ses_recorded"
HOSTILE = "hostile words"

SCRIPTS: tuple[tuple[list[Any], dict[str, Any]], ...] = (
    (
        [
            Reply(text=HOSTILE, reasoning=HOSTILE, calls=[call("look", key=HOSTILE), call("broken", key="a")]),
            Reply(error=ScriptedError(HOSTILE, 503)),
            [call("none", key=HOSTILE)],
            f"Done: {HOSTILE}",
        ],
        {},
    ),
    ([[call("poll", key=str(number))] for number in range(4)], {"limits": Limits(tool_calls=2), "steps": 3}),
    ([Reply(text="cut", cut=2), Reply(error=ScriptedError("no", 400))], {}),
)


@cache
def recorded() -> tuple[tuple[Entry, ...], ...]:
    """The entries of each script, in order."""
    return tuple(run_virtually(lambda seams, given=given: _played(seams, *given), seed=0) for given in SCRIPTS)


async def _played(seams: Any, replies: list[Any], more: dict[str, Any]) -> tuple[Entry, ...]:
    async with runtime_of(seams, WiredJournal(), ScriptedModel(replies, then=HOSTILE), **more) as runtime:
        await runtime.create(SESSION)
        for prompt in (HOSTILE, "and again"):
            await runtime.wait(SESSION, await runtime.prompt(SESSION, prompt))
        return tuple(await runtime.journal.load(SESSION))


def runtime_of(seams: Any, journal: Any, model: ScriptedModel, **more: Any) -> Runtime:
    return Agent("build", model=model, tools=TOOLS, seams=seams, journal=journal, directory="/", **more).runtime()
