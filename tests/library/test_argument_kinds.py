"""Every argument of the public API is compared with its annotation, and a `ConfigError` names the one that is wrong."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from bridle import (
    Agent,
    Budget,
    ConfigError,
    Context,
    Hooks,
    Limits,
    Rule,
    Runtime,
    RuntimeConfig,
    ScriptedModel,
    Sessions,
    to_anthropic,
    to_openai,
    tool,
)
from bridle.core.limits import LimitName
from bridle.core.session import Session
from bridle.library.agent_arguments import AgentArguments
from bridle.library.run_arguments import RunArguments
from bridle.tools.function_tools import ToolOptions
from bridle.values.argument_kinds import check_argument, fits, hints_of

FITTING: dict[Any, Any] = {
    str: "x",
    bool: True,
    float: 1.0,
    bytes: b"",
    Budget: Budget(),
    LimitName: "steps",
    Session: Session(),
    Literal["once", "always", "reject"]: "once",
}


@pytest.mark.parametrize("argument", [*AgentArguments.__annotations__, "name", "check", "output", "prompt"])
def test_an_agent_names_the_argument_that_has_a_wrong_type(argument):
    given = {"model": ScriptedModel(), **({"output": int} if argument == "check" else {}), argument: object()}
    with pytest.raises(ConfigError, match=rf"^agent.*\b{argument}\b"):
        Agent(**given)


@pytest.mark.parametrize("argument", sorted({"prompt", *RunArguments.__annotations__, "output"} - {"deps"}))
def test_a_run_names_the_argument_that_has_a_wrong_type_and_asks_no_model(argument):
    model = ScriptedModel()
    given = {"prompt": "go", argument: object()}
    with pytest.raises(ConfigError, match=rf"^run: {argument}"):
        asyncio.run(Agent(model=model).run(**given))
    assert model.requests == []


@pytest.mark.parametrize("field", RuntimeConfig.__slots__)
def test_a_runtime_names_the_field_of_its_configuration_that_has_a_wrong_type(field):
    with pytest.raises(ConfigError, match=f"^RuntimeConfig: {field} must be "):
        Runtime(RuntimeConfig(**{field: object()}))


def test_every_method_of_sessions_names_the_argument_that_has_a_wrong_type():
    checked = []
    runtime = Runtime()
    for method in [name for name, each in vars(Sessions).items() if name[0] != "_" and inspect.isfunction(each)]:
        function = getattr(runtime, method)
        kinds = hints_of(getattr(Sessions, method))
        parameters = {name: each for name, each in inspect.signature(function).parameters.items() if name in kinds}
        for wrong in parameters.keys() - {"messages"}:
            needed = [each.name for each in parameters.values() if each.default is each.empty]
            given = {name: FITTING.get(kinds[name]) for name in needed}
            with pytest.raises(ConfigError, match=f"^{method}: {wrong} must be "):
                function(**{**given, wrong: object()})
            checked.append((method, wrong))
    assert len(checked) > 70


@pytest.mark.parametrize("option", sorted({*ToolOptions.__slots__}))
def test_a_tool_names_the_option_that_has_a_wrong_type(option):
    with pytest.raises(ConfigError, match=f"^tool: {option} must be "):
        tool(**{option: object()})


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def counts():
    yield 1


async def later(a: int, b: int) -> bool:
    return a > b


def unknown(a: object) -> str:
    return ""


unknown.__annotations__["a"] = "Nowhere"


class Shop:
    def sell(self, item: str) -> str:
        return item


def second(a: int, ctx: Context) -> int:
    return a


def maybe(ctx: Context | None, a: int) -> int:
    return a


def sold(ctx: Context[Shop]) -> str:
    return ctx.deps.sell("tea")


async def budget(given):
    async with Agent(model=ScriptedModel()).runtime() as runtime:
        await runtime.set_budget("ann", given)


WRONG = [
    (lambda: tool(timeout_seconds=0), "timeout_seconds must be more than 0"),
    (lambda: tool(permission=""), "permission must not be empty"),
    (lambda: tool(name="two words")(add), "tool 'two words': the name must have"),
    (lambda: Agent(model=ScriptedModel(), tools=[lambda: "x"]), "tool '<lambda>': the name must have"),
    (lambda: tool(counts), "tool counts: a tool returns its result: it cannot yield"),
    (lambda: tool(unknown), "tool unknown: its type hints cannot be read: NameError: name 'Nowhere'"),
    (lambda: tool(Shop.sell), r"tool sell: parameter self has no type hint: make a tool of the bound method"),
    (lambda: tool(second), "tool second: parameter ctx: the first parameter alone may be a Context"),
    (lambda: tool(maybe), "tool maybe: parameter ctx: the first parameter alone may be a Context"),
    (lambda: tool(name="sum")(partial(add, 1)), "tool: functools.partial.* is no function: write a def"),
    (lambda: Agent(model=ScriptedModel(), tools=[Shop]), "tool: <class .*Shop'> is no function: write a def"),
    (lambda: Agent(model=ScriptedModel), r"model: ScriptedModel is a class: give an object, ScriptedModel\(…\)"),
    (lambda: ScriptedModel("Hello!"), "ScriptedModel: replies must be a list of replies or a function, not 'Hello!'"),
    (lambda: ScriptedModel([5]), "ScriptedModel: 5 is no reply: give a text"),
    (lambda: tool(needs=later)(add), "tool add: needs must be a plain function"),
    (lambda: tool(needs=lambda total: True)(add), "tool add: needs must take the arguments of the tool"),
    (lambda: Rule(b"python", "*", "deny"), "Rule: permission must be text"),
    (lambda: Agent("two\nlines", model=ScriptedModel()), "agent: name must be a text on one line"),
    (lambda: Agent(model=""), "agent: model: '' is no model"),
    (lambda: Agent(model=ScriptedModel(), account="a b"), "agent: account: 'a b' is not a valid name"),
    (lambda: Agent(model=ScriptedModel(), instructions=lambda: "x"), "instructions must be a function of the context"),
    (lambda: Agent(model=ScriptedModel(), deps=lambda: "x"), "deps must be a function of the metadata"),
    (lambda: Agent(model=ScriptedModel(), output=int, check=lambda: 1), "check must be a function of the answer"),
    (lambda: Agent(model=ScriptedModel(), output=add), "output: add is a function and no type"),
    (lambda: Agent(model=ScriptedModel(), hooks=[Hooks(tool=5)]), "hooks: tool must be a pattern"),
    (
        lambda: Agent(model=ScriptedModel(), tools=[add], hooks=[Hooks(tool="ad")]),
        r"hooks\[0\]: tool: there is no tool",
    ),
    (lambda: Agent(model=ScriptedModel(), journal="sqlite:///x.db").run_sync("go"), "sqlite:// is not supported"),
    (lambda: Agent(model=ScriptedModel(), journal="").run_sync("go"), "journal: '' is neither a path nor an address"),
    (
        lambda: Agent(model=ScriptedModel(), tools=[sold]).run_sync("go", deps=None),
        "run: deps: it takes Shop, not None",
    ),
    (lambda: Agent(model=ScriptedModel(), deps_type=dict).run_sync("go", deps="x"), "deps: it takes dict, not 'x'"),
    (
        lambda: asyncio.run(budget(Budget(daily={"cost": 1}))),
        "set_budget: budget: daily must be Limits, not {'cost': 1}",
    ),
    (lambda: asyncio.run(budget(Budget(daily=Limits(cost="5")))), "budget: daily: cost must be a number, not '5'"),
    (lambda: Agent(model=ScriptedModel()).run_sync("go", id=""), "run: id must not be empty"),
    (lambda: Agent(model=ScriptedModel()).run_sync("go", files=["nowhere"]), "run: files: nowhere cannot be read"),
]


@pytest.mark.parametrize(("make", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_value_that_cannot_be_meant_is_refused_where_it_is_given(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


@pytest.mark.parametrize("write", [to_openai, to_anthropic])
@pytest.mark.parametrize(("given", "said"), [(5, "messages must be a list"), (["x"], r"messages\[0\] must be")])
def test_only_messages_are_written_for_other_libraries(write, given, said):
    with pytest.raises(ConfigError, match=said):
        write(given)


KINDS = [
    (int, 3, True),
    (int, True, False),
    (float, 3, True),
    (float, "3", False),
    (str | None, None, True),
    (Literal["a", 1], 1, True),
    (Literal["a", 1], True, False),
    (Sequence[int], (1, 2), True),
    (Sequence[int], "12", False),
    (Iterable[str | Path], ["a", Path("b")], True),
    (Iterable[str | Path], {"a": 1}, False),
    (Mapping[str, Any], {"a": object()}, True),
    (Mapping[str, int], {"a": "b"}, False),
    (Mapping[str, Any], {1: 2}, False),
    (Callable[[int], str], print, True),
    (Callable[[int], str] | None, 5, False),
    (type[int] | None, list[int], True),
    (asyncio.Future[int] | None, 5, False),
    (Any, object(), True),
]


@pytest.mark.parametrize(("kind", "value", "does"), KINDS)
def test_a_value_fits_an_annotation_or_not(kind, value, does):
    assert fits(kind, value) is does


def test_an_iterator_is_not_used_up():
    values = iter([1, 2])
    assert fits(Iterable[int], values)
    assert list(values) == [1, 2]


PLACES = [
    (list[int], [1, "2"], r"it\[1\] must be a whole number, not '2'"),
    (Mapping[str, int] | None, {"a": 1, "b": "2"}, "it: b must be a whole number, not '2'"),
    (Mapping[str, int] | None, 5, "it must be a mapping with text keys, not 5"),
    (Sequence[str | Path], 5, "it must be a list of text or Path, not 5"),
    (bool | None, "no", "it must be True or False, not 'no'"),
    (Callable[[], str], 5, "it must be a function, not 5"),
]


@pytest.mark.parametrize(("kind", "value", "said"), PLACES, ids=[said for *_, said in PLACES])
def test_the_element_that_is_wrong_is_named_by_its_place(kind, value, said):
    with pytest.raises(ConfigError, match=f"^{said}$"):
        check_argument("it", kind, value)
