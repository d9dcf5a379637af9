"""Dependencies, context, typed outputs and checks of an agent in a Python program."""

import asyncio
import contextlib
import contextvars
import dataclasses
import logging
import os
import signal
import subprocess
import sys
from typing import Annotated, Literal, TypedDict

import msgspec
import pydantic
import pytest
from support import library_shop
from support.paths import TESTS

from bridle import Agent, ConfigError, Context, Limits, NoOutput, Retry, ScriptedModel, TurnLeft, call, tool
from bridle.core.parts import OUTPUT


@dataclasses.dataclass
class Shop:
    name: str
    orders: list = dataclasses.field(default_factory=list)


@tool
async def order(ctx: Context[Shop], item: str) -> str:
    """Order an item."""
    ctx.progress(f"ordering {item}")
    ctx.deps.orders.append((item, ctx.session, ctx.call, ctx.metadata))
    return f"{ctx.deps.name} sends {item}"


def test_two_runs_at_once_have_their_own_deps():
    agent = Agent[Shop, str](model=ScriptedModel([call("order", item="tea"), "sent"] * 2), tools=[order])
    shops = Shop("one"), Shop("two")

    async def work():
        return await asyncio.gather(*(agent.run("tea", deps=shop, metadata={"shop": shop.name}) for shop in shops))

    results = asyncio.run(work())
    assert [result.output for result in results] == ["sent", "sent"]
    assert [[(item, session, meta) for item, session, _, meta in shop.orders] for shop in shops] == [
        [("tea", results[0].session, {"shop": "one"})],
        [("tea", results[1].session, {"shop": "two"})],
    ]


def test_a_run_without_the_deps_that_its_tools_take_is_refused_before_anything_is_recorded(tmp_path):
    agent = Agent(model=ScriptedModel(["hi"]), tools=[order], journal=tmp_path / "j.db")
    with pytest.raises(ConfigError, match="agent agent: run: deps are missing: it takes Shop"):
        agent.run_sync("go")
    lead = Agent("lead", model=ScriptedModel(["hi"]), subagents=[agent], journal=tmp_path / "j.db")
    with pytest.raises(ConfigError, match="agent lead: run: deps are missing: agent agent takes Shop"):
        lead.run_sync("go")
    assert not (tmp_path / "j.db").exists()
    supplied = Agent("supplied", model=ScriptedModel(["hi"]), tools=[order], deps=lambda metadata: Shop("own"))
    assert Agent("lead", model=ScriptedModel(["hi"]), subagents=[supplied]).run_sync("go").output == "hi"


def factories(opened):
    def plain(metadata):
        return Shop(metadata["shop"], opened)

    async def later(metadata):
        return Shop(metadata["shop"], opened)

    @contextlib.contextmanager
    def managed(metadata):
        opened.append("open")
        yield Shop(metadata["shop"], opened)
        opened.append("closed")

    async def generated(metadata):
        opened.append("open")
        yield Shop(metadata["shop"], opened)
        opened.append("closed")

    return {"plain": plain, "later": later, "managed": managed, "generated": generated}


@pytest.mark.parametrize("kind", ["plain", "later", "managed", "generated"])
def test_a_factory_makes_the_deps_of_a_turn_once_from_its_metadata_and_closes_them_with_it(kind):
    opened = []
    model = ScriptedModel([[call("order", item="tea"), call("order", item="jam")], "sent"])
    agent = Agent(model=model, tools=[order], deps=factories(opened)[kind])
    result = agent.run_sync("go", metadata={"shop": "corner"})
    managed = kind in ("managed", "generated")
    said = [each if isinstance(each, str) else each[0] for each in opened]
    assert (said[:1] == ["open"], said[-1:] == ["closed"]) == (managed, managed)
    assert [each for each in said if each not in ("open", "closed")] == ["tea", "jam"]
    assert [message.text for message in result.messages if message.__class__.__name__ == "ResultMessage"] == [
        "corner sends tea",
        "corner sends jam",
    ]


KILLED = """
import os, pathlib, sys
from support.library_shop import agent, Shop

os.environ["DIES"] = "yes"
agent(sys.argv[1]).run_sync("go", deps=Shop("first"), id="p1", metadata={"shop": "corner"})
"""


def test_another_process_makes_the_deps_anew_or_leaves_the_turn_interrupted_and_says_why(tmp_path):
    path = tmp_path / "j.db"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, path], env={**os.environ, "PYTHONPATH": str(TESTS)}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(TurnLeft, match="agent shop needs its deps, and this process has none"):
        asyncio.run(left(path))
    made = library_shop.agent(path, deps=lambda metadata: library_shop.Shop(metadata["shop"]))
    result = asyncio.run(made.resume("p1"))
    assert (result.reason, result.session, result.output) == ("answered", "p1", "sent")
    first, second = [message.text for message in result.messages if hasattr(message, "call")]
    assert (first, second.startswith("The process died while this call was running.")) == ("first sends tea", True)


async def left(path):
    async with library_shop.agent(path).runtime() as runtime:
        await runtime.resume("p1")
        await runtime.wait("p1", "p1")


def test_subagents_get_the_deps_of_the_run_or_those_of_their_own_factory():
    seen = []

    @tool
    def look(ctx: Context[Shop]) -> str:
        """Look."""
        seen.append((ctx.agent, ctx.deps.name))
        return "seen"

    def sub(name, **more):
        return Agent(name, model=ScriptedModel([call("look"), "looked"]), tools=[look], description=name, **more)

    def start(name):
        return call("task", description="d", prompt="look", subagent_type=name)

    agent = Agent[Shop, str](
        model=ScriptedModel([[start("one"), start("two")], "done"]),
        tools=[look],
        subagents=[sub("one"), sub("two", deps=lambda metadata: Shop(f"own of {metadata['n']}"))],
    )
    assert agent.run_sync("go", deps=Shop("root"), metadata={"n": 7}).output == "done"
    assert sorted(seen) == [("one", "root"), ("two", "own of 7")]


def test_instructions_may_be_a_function_of_the_context():
    async def told(ctx: Context[Shop]) -> str:
        return f"You sell for {ctx.deps.name} to {ctx.metadata['who']}."

    model = ScriptedModel(["hello"])
    Agent[Shop, str](model=model, instructions=told).run_sync("hi", deps=Shop("corner"), metadata={"who": "Ann"})
    assert model.requests[0].system.startswith("You sell for corner to Ann.")


def test_the_users_words_are_no_instructions():
    with pytest.raises(ConfigError, match="agent x: prompt is the user's text, given to run: use instructions"):
        Agent("x", model=ScriptedModel([]), prompt="You are")


TENANT = contextvars.ContextVar("tenant")


def test_context_variables_reach_plain_functions_too():
    @tool
    def plain() -> str:
        """Plain."""
        return TENANT.get()

    @tool
    async def later() -> str:
        """Later."""
        return TENANT.get()

    TENANT.set("seven")
    result = Agent(model=ScriptedModel([[call("plain"), call("later")], "done"]), tools=[plain, later]).run_sync("go")
    assert [message.text for message in result.messages if hasattr(message, "call")] == ["seven", "seven"]


def test_a_tool_stays_a_function():
    @tool(name="adds", repeatable=True)
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert (add(1), add(1, b=2), add.spec.name, add.__name__) == (2, 3, "adds", "add")


def test_an_exception_goes_to_the_log_and_its_traceback_to_the_model_only_on_request(caplog):
    @tool
    def quiet() -> str:
        """Fail."""
        raise KeyError("secret path")

    @tool(traceback=True)
    def loud() -> str:
        """Fail."""
        raise KeyError("open path")

    model = ScriptedModel([[call("quiet"), call("loud")], "failed"])
    with caplog.at_level(logging.ERROR):
        result = Agent(model=model, tools=[quiet, loud]).run_sync("go")
    first, second = [message.text for message in result.messages if hasattr(message, "call")]
    assert "Traceback" not in first and "KeyError" in first
    assert "Traceback" in second
    assert [record.getMessage() for record in caplog.records] == ["the tool quiet failed", "the tool loud failed"]


# Types.


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Line(msgspec.Struct):
    points: list[Point]


class Pair(TypedDict):
    left: int
    right: int


class Item(pydantic.BaseModel):
    name: str
    price: Annotated[float, pydantic.Field(gt=0)]

    @pydantic.field_validator("name")
    @classmethod
    def named(cls, value):
        if value == "nothing":
            raise ValueError("must be something")
        return value


@dataclasses.dataclass
class Tree:
    value: int
    children: "list[Tree]" = dataclasses.field(default_factory=list)


class Basket(pydantic.BaseModel):
    items: list[Item]
    gift: "Basket | None" = None


TYPES = [
    (Point, {"x": 1}, Point(1)),
    (Line, {"points": [{"x": 1, "y": 2}]}, Line([Point(1, 2)])),
    (Pair, {"left": 1, "right": 2}, {"left": 1, "right": 2}),
    (Item, {"name": "tea", "price": 2.5}, Item(name="tea", price=2.5)),
    (list[Item], [{"name": "tea", "price": 2.5}], [Item(name="tea", price=2.5)]),
    (Point | Line, {"points": []}, Line([])),
    (Item | Point, {"x": 3}, Point(3)),
    (Point | None, None, None),
    (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
    (Basket, {"items": [], "gift": {"items": []}}, Basket(items=[], gift=Basket(items=[]))),
    (Literal["yes", "no"], "no", "no"),
    (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
    (Annotated[int, msgspec.Meta(ge=1)], 3, 3),
]


def gives(value, kind):
    """The call by which a model gives an answer of this type."""
    wrapped = not isinstance(value, dict) or kind in (Point | Line, Item | Point, Point | None)
    return call(OUTPUT, **({"value": value} if wrapped else value))


@pytest.mark.parametrize(("kind", "value", "made"), TYPES, ids=[str(row[0])[:40] for row in TYPES])
def test_an_answer_comes_in_its_type(kind, value, made):
    result = Agent(model=ScriptedModel([gives(value, kind)]), output=kind).run_sync("go")
    assert (result.reason, result.output) == ("answered", made), result


WRONG = [
    (Item, {"name": "nothing", "price": 1.0}, {"name": "tea", "price": 1.0}, "must be something"),
    (Item, {"name": "tea", "price": -1}, {"name": "tea", "price": 1}, "-1 is less than or equal to the minimum of 0"),
    (Tree, {"value": 1, "children": [{}]}, {"value": 1}, "'value' is a required property"),
]


@pytest.mark.parametrize(("kind", "wrong", "right", "why"), WRONG, ids=[row[3][:20] for row in WRONG])
def test_an_answer_that_does_not_fit_goes_back_to_the_model(kind, wrong, right, why):
    model = ScriptedModel([gives(wrong, kind), gives(right, kind)])
    result = Agent(model=model, output=kind).run_sync("go")
    assert (result.reason, result.steps, isinstance(result.output, kind)) == ("answered", 2, True)
    assert why in model.requests[1].messages[-1].text


def test_a_check_may_reject_or_change_an_answer_and_sees_the_deps():
    async def check(ctx: Context[Shop], point: Point) -> Point:
        if point.x > 9:
            raise Retry(f"{ctx.deps.name} ends at 9")
        return Point(point.x, 5)

    model = ScriptedModel([call(OUTPUT, x=10), call(OUTPUT, x=9)])
    result = Agent[Shop, Point](model=model, output=Point, check=check).run_sync("go", deps=Shop("corner"))
    assert (result.output, result.data) == (Point(9, 5), {"x": 9, "y": 5})
    assert model.requests[1].messages[-1].text == "the answer is not accepted: corner ends at 9"


def test_a_rejected_answer_counts_steps_and_an_output_that_never_came_raises():
    def never(point):
        raise Retry("no")

    agent = Agent(model=ScriptedModel([call(OUTPUT, x=n) for n in range(9)]), output=Point, check=never, steps=3)
    result = agent.run_sync("go")
    assert result.steps == 3
    with pytest.raises(NoOutput, match=f"the run ended {result.reason} without an output"):
        _ = result.output


def test_an_output_may_be_asked_for_by_a_single_run():
    agent = Agent(model=ScriptedModel([call(OUTPUT, x=1), "text"]))

    async def work():
        stream = agent.stream("go", output=Point)
        grown = [value async for value in stream.outputs()]
        return (await agent.run("go", output=Point)).output, grown[-1], (await agent.run("go")).output

    assert asyncio.run(work()) == (Point(1), Point(1), "text")
    assert agent.run_sync("go", output=Point).output == Point(1)


def test_a_streamed_answer_grows():
    async def work():
        model = ScriptedModel([call(OUTPUT, points=[{"x": 1, "y": 2}, {"x": 3, "y": 4}])])
        stream = Agent(model=model, output=Line).stream("go")
        return [output async for output in stream.outputs()]

    *partial, last = asyncio.run(work())
    assert last == Line([Point(1, 2), Point(3, 4)])
    assert all(isinstance(each, dict) for each in partial)


@tool
def buy(item: Item, many: Annotated[int, pydantic.Field(ge=1, description="how many")] = 1) -> Item:
    """Buy something."""
    return Item(name=f"{many} {item.name}", price=item.price * many)


def test_pydantic_types_are_arguments_and_results_of_tools_and_their_constraints_hold():
    tea = {"name": "tea", "price": 2.0}
    model = ScriptedModel([call("buy", item=tea, many=0), call("buy", item=tea, many=3), "bought"])
    result = Agent(model=model, tools=[buy]).run_sync("go")
    refused, bought = [message.text for message in result.messages if hasattr(message, "call")]
    assert "many: Input should be greater than or equal to 1" in refused
    assert bought == '{"name":"3 tea","price":6.0}'
    assert buy.spec.schema["properties"]["many"]["description"] == "how many"


def test_a_tool_may_ask_the_model_to_try_again():
    @tool
    def guess(n: int) -> str:
        """Guess."""
        if n < 5:
            raise Retry("too low")
        return "right"

    model = ScriptedModel([call("guess", n=1), call("guess", n=5), "done"])
    result = Agent(model=model, tools=[guess], limits=Limits(tool_calls=5)).run_sync("go")
    assert [message.text for message in result.messages if hasattr(message, "call")] == ["too low", "right"]
