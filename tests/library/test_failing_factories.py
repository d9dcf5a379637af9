"""Factories and instructions that fail, and the ways in which a factory may give what it makes back."""

import asyncio
import contextlib
import functools

import pytest

from bridle import Agent, ConfigError, Context, ScriptedModel, call, tool

ERRORS = [ValueError("no database"), SystemExit(3), asyncio.CancelledError()]


@tool
def which(ctx: Context[int]) -> str:
    """Say which."""
    return str(ctx.deps)


def results(result):
    return [message.text for message in result.messages if hasattr(message, "failed")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_factory_that_fails_leaves_its_turn_interrupted_and_resume_continues_it(error, tmp_path):
    errors = [error]

    def factory(metadata):
        if errors:
            raise errors.pop()
        return 7

    model = ScriptedModel([call("which"), "done"])
    agent = Agent(model=model, tools=[which], deps=factory, journal=tmp_path / "journal.db")
    with pytest.raises((ValueError, RuntimeError), match=r"no database|SystemExit: 3|CancelledError"):
        agent.run_sync("go", id="mine")

    async def work():
        async with agent.runtime() as runtime:
            assert (await runtime.status("mine")).state == "interrupted"
        return await agent.resume("mine")

    assert results(asyncio.run(work())) == ["7"]


def test_a_stream_whose_factory_fails_leaves_its_turn_interrupted_too(tmp_path):
    def factory(metadata):
        raise ValueError("no database")

    agent = Agent(model=ScriptedModel([]), tools=[which], deps=factory, journal=tmp_path / "journal.db")

    async def work():
        with pytest.raises(ValueError, match="no database"):
            async for _ in agent.stream("go", id="mine"):
                pass
        async with agent.runtime() as runtime:
            return (await runtime.status("mine")).state, await runtime.journal.inbox("mine")

    assert asyncio.run(work()) == ("interrupted", [])


def test_a_factory_that_makes_something_else_is_told_and_what_it_opened_is_closed():
    closed = []

    def connect(metadata):
        yield 5
        closed.append("connection")

    def use(ctx: Context[str]) -> str:
        return ctx.deps

    agent = Agent("clerk", model=ScriptedModel([call("use"), "done"]), tools=[use], deps=connect)
    with pytest.raises(ConfigError, match="agent clerk: deps: it takes text, and the factory returned 5"):
        agent.run_sync("go")
    assert closed == ["connection"]


def test_instructions_without_a_text_end_the_turn():
    result = Agent("clerk", model=ScriptedModel(["done"]), instructions=lambda context: None).run_sync("go")
    assert (result.reason, result.detail) == ("error", "the instructions of agent clerk must be text, not None")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_instructions_that_fail_end_the_turn_and_the_next_prompt_is_a_turn_of_its_own(error, caplog):
    errors = [error]

    def instructions(context):
        if errors:
            raise errors.pop()
        return "You answer."

    model = ScriptedModel(["done"])
    agent = Agent("clerk", model=model, instructions=instructions)
    failed = agent.run_sync("first")
    assert (failed.reason, failed.steps) == ("error", 0)
    assert failed.detail.startswith("the instructions of agent clerk failed: ")
    assert "the instructions of agent clerk failed" in caplog.text
    assert agent.run_sync("second", session=failed.session).output == "done"


class Pool:
    """A pool whose leases may be awaited or entered, as asyncpg's."""

    def __init__(self):
        self.seen = []

    @contextlib.asynccontextmanager
    async def connection(self, metadata):
        self.seen.append("taken")
        yield 7
        self.seen.append("returned")

    def acquire(self):
        pool = self

        class Lease:
            def __await__(self):
                raise AssertionError("it would never be returned")
                yield

            async def __aenter__(self):
                pool.seen.append("taken")
                return 7

            async def __aexit__(self, *error):
                pool.seen.append("returned")

        return Lease()


def plain_generator(pool, metadata):
    pool.seen.append("taken")
    yield 7
    pool.seen.append("returned")


@contextlib.asynccontextmanager
async def managed(pool, metadata):
    pool.seen.append("taken")
    yield 7
    pool.seen.append("returned")


FACTORIES = {
    "method": lambda pool: pool.connection,
    "lambda": lambda pool: lambda metadata: pool.connection(metadata),
    "lease": lambda pool: lambda metadata: pool.acquire(),
    "generator": lambda pool: functools.partial(plain_generator, pool),
    "partial": lambda pool: functools.partial(managed, pool),
}


@pytest.mark.parametrize("kind", FACTORIES)
def test_what_a_factory_opens_is_closed_with_the_turn(kind):
    pool = Pool()
    agent = Agent(model=ScriptedModel([call("which"), "done"]), tools=[which], deps=FACTORIES[kind](pool))
    assert (results(agent.run_sync("go")), pool.seen) == (["7"], ["taken", "returned"])
