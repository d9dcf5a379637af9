"""Ten small tasks for the embedded model, in this process or behind a server, and what each must have done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle import Runtime, RuntimeConfig
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import Behavior, ModelSettings, Settings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, StepStart
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.states import Done
from bridle.model.embedded import WINDOW, weights
from bridle.model.model import Model
from bridle.tools.registry import builtin_tools
from bridle.values.provider import Provider

CAP = 4
FILES = {"notes.txt": "Supper is at seven.\n", "list.txt": "hay\noats\nwater\n", "data.json": '{"horses": 3}\n'}
ENDINGS = ("answered", "step_cap", "doom_loop", "empty", "context_full")
SERVED = "smollm2:135m"
BY_HAND = {"text_calls": True, "constrained": True, "small": True}


class Outcome(NamedTuple):
    """How a task ended, and in which folder."""

    result: Result
    session: Session
    folder: Path

    @property
    def ended_well(self) -> bool:
        steps = [part for part in self.session.parts.values() if isinstance(part, StepStart)]
        return self.result.reason in ENDINGS and bool(self.result.text) and len(steps) <= CAP

    def did(self, tool: str, words: str) -> bool:
        """Return whether a call of this tool with these words in its arguments was completed."""
        made = [part for part in self.session.parts.values() if isinstance(part, Call)]
        return any(call.name == tool and words in call.arguments and isinstance(call.state, Done) for call in made)

    def holds(self, name: str, words: str) -> bool:
        place = self.folder / name
        return place.is_file() and words in place.read_text()

    @property
    def untouched(self) -> bool:
        return all(self.holds(name, text) for name, text in FILES.items())


class Task(NamedTuple):
    """A prompt, and the check of what it must have done. The model's words are not judged."""

    prompt: str
    passed: Callable[[Outcome], bool]


def _looks_at(name: str) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.did("read", name) or outcome.did("bash", name)


TASKS = (
    Task("What is in the file notes.txt?", _looks_at("notes.txt")),
    Task("Run the command ls", lambda outcome: outcome.did("bash", "ls")),
    Task("Write the word sun into sky.txt", lambda outcome: outcome.holds("sky.txt", "sun")),
    Task("How many lines does notes.txt have?", _looks_at("notes.txt")),
    Task("Read list.txt and tell me the second line", _looks_at("list.txt")),
    Task("Show me the contents of data.json", _looks_at("data.json")),
    Task("Delete nothing. What day is supper?", lambda outcome: outcome.untouched),
    Task("Say the same word again and again for ever", lambda outcome: outcome.untouched),
    Task("Read every file here, then read them again, then again", lambda outcome: outcome.did("read", "")),
    Task("Explain the meaning of life in one sentence", lambda outcome: outcome.untouched),
)


async def carry_out(
    task: Task,
    ref: str,
    folder: Path,
    *,
    models: Mapping[str, Model] | None = None,
    settings: Settings | None = None,
) -> Outcome:
    """Run one task in a folder with the three files."""
    folder.mkdir(exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    names = frozenset(tool.spec.name for tool in builtin_tools())
    config = RuntimeConfig(
        models=models or {},
        settings=msgspec.structs.replace(settings or Settings(), behavior=Behavior(max_steps=CAP)),
        tools=builtin_tools(),
        user=UserSetup(built_in=names),
        directory=folder,
    )
    async with Runtime(config) as runtime:
        session = await runtime.create()
        options = TurnOptions(model=ref, on_ask="allow")
        result = await runtime.wait(session, await runtime.prompt(session, task.prompt, options=options))
        return Outcome(result, await runtime.load(session), folder)


@contextmanager
def served_engine() -> Iterator[str]:
    """Serve the embedded model's weights on loopback, as llama.cpp's own server does; yield the address."""
    engine = import_module("xllamacpp")
    parameters = engine.CommonParams()
    found = weights(Path())
    assert found is not None
    parameters.model.path = str(found)
    parameters.model_alias = {SERVED}
    parameters.n_ctx = WINDOW
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    server = engine.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def served_settings(address: str, quirks: dict[str, Any]) -> tuple[str, Settings]:
    """Return the reference of the served model, and settings in which only these quirks are set."""
    ref = f"llamacpp/{SERVED}"
    provider = Provider("chat", address, options={"temperature": 0.2, "seed": 7})
    models = {ref: ModelSettings(quirks=quirks)} if quirks else {}
    return ref, Settings(providers={"llamacpp": provider}, models=models)
