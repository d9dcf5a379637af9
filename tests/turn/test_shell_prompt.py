"""A person's shell command: a turn whose first call the person wrote, without a model request and without an ask."""

import asyncio

import msgspec
from support.virtual import run_virtually

from bridle import Agent, Rule, ScriptedModel
from bridle.core.messages import AssistantText, Messages, UserMessage
from bridle.core.parts import Call, Prompt
from bridle.core.permission import Access
from bridle.core.session import Session
from bridle.core.states import Done, Refused
from bridle.core.stream import ModelRequest, TextDelta, ToolSpec
from bridle.tools.tool import Output, StructTool, loader, struct_schema
from bridle.turn.shell_prompt import ShellModel


class Command(msgspec.Struct):
    command: str
    description: str = ""


async def run(given, invocation):
    await asyncio.sleep(10)
    return Output(f"ran {given.command}")


def needs(given, directory):
    return (Access("protected" if "AGENTS.md" in given.command else "bash", given.command),)


BASH = StructTool(
    spec=ToolSpec("bash", "Run a command.", struct_schema(Command)),
    load=loader(Command),
    work=run,
    permission="bash",
    needs=needs,
)


def told(command, *replies, tools=(BASH,), steered=""):
    """Run a command of a person where each command needs an ask; return its calls, its result and the model."""
    model = ScriptedModel(replies[0] if replies else [])

    async def work(seams):
        rules = [Rule("bash", "*", "ask"), Rule("protected", "*", "ask")]
        top = Agent("root", model=model, tools=tools, permission=rules, on_ask="deny", seams=seams)
        async with top.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.shell(session, command)
            if steered:
                await asyncio.sleep(5)
                await runtime.prompt(session, steered)
            result = await runtime.wait(session, prompt)
            return await runtime.load(session), result

    state, result = run_virtually(work)
    return [part for part in state.parts.values() if isinstance(part, Call)], result, model


def test_a_command_runs_without_an_ask_and_without_a_request_to_the_model():
    (made,), result, model = told("ls")
    assert isinstance(made.state, Done) and made.state.output == "ran ls"
    assert (result.reason, result.text, result.tokens) == ("answered", "The user's command has ended.", 0)
    assert model.requests == []


def test_a_protected_place_needs_more_than_a_typed_command():
    (made,), _, _ = told("echo x > AGENTS.md")
    assert isinstance(made.state, Refused) and "protected from commands" in made.state.output


def test_an_agent_without_a_shell_runs_no_command():
    made, result, _ = told("ls", tools=())
    assert (made, result.text) == ([], "This agent has no shell, so the user's command was not run.")


def test_a_prompt_that_joins_the_turn_of_a_command_is_answered_by_the_model():
    (made,), result, model = told("ls", lambda request: "I see.", steered="and what does that mean?")
    assert isinstance(made.state, Done)
    assert (result.text, len(model.requests)) == ("I see.", 1)


def test_a_command_that_is_no_longer_in_view_is_not_run_again():
    other = ShellModel(ScriptedModel(["x"]), Prompt("prm", "!ls", shell="ls"), Session())
    view = Messages([UserMessage("summary", AssistantText("short"))])
    request = ModelRequest("1.1.1", "s", "step", "m", "", view, (), "auto", 1, {})

    async def texts():
        return [event.text async for event in other.stream(request) if isinstance(event, TextDelta)]

    assert asyncio.run(texts()) == ["x"]
