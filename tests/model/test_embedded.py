"""The model in this process, for real: sampled tokens, real calls, typed endings. Its words are not judged."""

import asyncio
import os

import pytest
from support.embedded_tasks import CAP, TASKS, carry_out

from bridle import Runtime, RuntimeConfig
from bridle.core.inbox import TurnOptions
from bridle.core.messages import Messages, UserMessage
from bridle.core.parts import Call, Request
from bridle.core.stream import ModelError, ModelRequest, StreamEnd
from bridle.errors import ConfigError
from bridle.model.embedded import EMBEDDED, embedded
from bridle.testing.validators import problems

SOME = int(os.environ.get("TASKS", "1"))
"""`scripts/tasks` runs all ten."""
REQUEST = ModelRequest("1.1.1", "s", "step", "m", "", Messages([UserMessage("p", "go")]), (), "auto", 100, {})


class Watched:
    """Every request of a turn is checked on its way."""

    def __init__(self, inner):
        self.info = inner.info
        self.inner = inner
        self.requests = []

    async def stream(self, request):
        assert problems(request) == []
        self.requests.append(request)
        async for event in self.inner.stream(request):
            yield event


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    return Watched(embedded(EMBEDDED, tmp_path_factory.mktemp("weights"), tmp_path_factory.mktemp("project"))[0])


@pytest.mark.parametrize("task", TASKS[:SOME], ids=lambda task: task.prompt)
def test_a_small_task_ends_well(task, engine, tmp_path):
    engine.requests.clear()
    outcome = asyncio.run(carry_out(task, EMBEDDED, tmp_path, models={EMBEDDED: engine}))
    assert outcome.ended_well and len(engine.requests) <= CAP + 2
    parts = outcome.session.parts.values()
    assert all(part.state.usage.total > 0 for part in parts if isinstance(part, Request))
    ran = [(part.name, part.arguments) for part in parts if isinstance(part, Call)]
    assert not any(ran[at] == ran[at + 1] == ran[at + 2] == ran[at + 3] for at in range(len(ran) - 3))
    # The first task is one that makes a real call.
    assert task != TASKS[0] or len(engine.requests) >= 2


def test_an_abort_is_seen_while_it_thinks(engine, tmp_path):
    async def work():
        async with Runtime(RuntimeConfig(models={EMBEDDED: engine}, directory=tmp_path)) as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "Tell me a long story.", options=TurnOptions(model=EMBEDDED))
            await asyncio.sleep(0.3)
            await runtime.abort(session)
            return await asyncio.wait_for(runtime.wait(session, prompt), 2)

    assert asyncio.run(work()).reason == "aborted"


def test_a_file_that_is_no_model_ends_the_turn_with_a_word(tmp_path):
    (tmp_path / "no.gguf").write_text("not a model")

    async def work():
        async with Runtime(RuntimeConfig(directory=tmp_path)) as runtime:
            session = await runtime.create()
            options = TurnOptions(model="gguf:no.gguf")
            return await runtime.wait(session, await runtime.prompt(session, "go", options=options))

    result = asyncio.run(work())
    assert (result.reason, "the embedded model failed" in result.detail) == ("error", True)


@pytest.mark.parametrize(
    ("ref", "words"),
    [("gguf:gone.gguf", "there is no such file"), ("embedded/other", "there is no model 'embedded/other'")],
)
def test_what_is_missing_is_named(ref, words, tmp_path):
    with pytest.raises(ConfigError, match=words):
        embedded(ref, tmp_path, tmp_path)


def test_two_who_come_at_once_share_one_engine(tmp_path, monkeypatch):
    loads = []

    class Engine:
        def handle_chat_completions(self, body, heard):
            heard({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]})

    def load(path, window):
        loads.append(path)
        return Engine()

    monkeypatch.setattr("bridle.model.embedded._load", load)
    model, _ = embedded(EMBEDDED, tmp_path, tmp_path)

    async def ask():
        return [event async for event in model.stream(REQUEST)][-1]

    async def work():
        return await asyncio.gather(ask(), ask())

    assert (asyncio.run(work()), len(loads)) == ([StreamEnd(), StreamEnd()], 1)


def test_a_system_without_the_engines_library_is_told_which_package_has_it(tmp_path, monkeypatch):
    def unloadable(name):
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("bridle.model.embedded.import_module", unloadable)
    model, _ = embedded(EMBEDDED, tmp_path, tmp_path)

    async def asked():
        return [event async for event in model.stream(REQUEST)]

    told = "libgomp.so.1: cannot open shared object file (Debian: apt-get install libgomp1)"
    assert asyncio.run(asked()) == [ModelError(f"the embedded model failed: {told}", retryable=False)]
