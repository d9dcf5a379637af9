"""Answers that must fit a schema: captured, asked for again within the step cap, and typed."""

import json
from dataclasses import dataclass

import msgspec
import pytest
from support.cli_home import Home
from support.output_schema import GIVEN, GOOD, SCHEMA
from support.stories import look, tell

from bridle import Agent, ConfigError, Limits, Reply, ScriptedModel, call
from bridle.core.inbox import TurnOptions
from bridle.core.repair import result_digest
from bridle.core.states import Done, Refused
from bridle.turn.output_schema import OutputSchema


def told(*replies, schema=SCHEMA, **more):
    return tell(ScriptedModel(replies, then="No more."), options=TurnOptions(output=schema), tools=(look,), **more)


def test_the_call_that_gives_the_answer_ends_the_turn():
    story = told(call("look", key="a"), GIVEN)
    result = story.result
    assert (result.reason, result.output, result.steps, result.tool_calls) == ("answered", GOOD, 2, 1)
    assert json.loads(result.text) == GOOD
    specs = {spec.name: spec.schema for spec in story.model.requests[0].tools}
    assert specs["structured_output"] == SCHEMA
    assert "structured_output" in story.model.requests[0].system


@pytest.mark.parametrize(
    "words",
    ['{"name": "Rocinante", "age": 12}', '```json\n{"name": "Rocinante", "age": 12}\n```'],
    ids=["bare", "fence"],
)
def test_words_that_are_the_answer_are_taken_for_it(words):
    result = told(words).result
    assert (result.reason, result.output, result.steps) == ("answered", GOOD, 1)


def test_what_does_not_fit_is_asked_for_again_with_what_is_wrong():
    story = told(call("structured_output", name="Rocinante", age=-1), "I am done.", GIVEN)
    assert (story.result.reason, story.result.output, story.result.steps) == ("answered", GOOD, 3)
    wrong = story.model.requests[1].messages[-1].text
    assert wrong == "the answer does not fit: $.age: -1 is less than the minimum of 0"
    assert story.model.requests[2].messages[-1].text.startswith("Your answer is missing")


def test_a_model_that_never_gives_it_is_asked_a_few_times_and_no_more():
    story = told(*["Just words."] * 9)
    assert (story.result.reason, story.result.output, story.result.steps) == ("error", None, 4)
    assert (story.result.text, story.result.exit_status) == ("Just words.", 1)
    assert story.sentinels == ["The turn failed: no answer met the schema"]


def test_a_talk_only_agent_that_never_gives_it_has_failed():
    result = told("Just words.", steps=0).result
    assert (result.reason, result.text, result.steps) == ("error", "Just words.", 1)


def test_at_the_cap_the_closing_request_may_still_ask_for_it():
    story = told(call("look", key="a"), call("look", key="b"), [GIVEN, call("look", key="c")], steps=3)
    result = story.result
    assert (result.reason, result.output, result.steps, result.tool_calls) == ("step_cap", GOOD, 3, 2)
    closing = story.model.requests[-1]
    assert ([spec.name for spec in closing.tools], closing.tool_choice) == (["structured_output"], "auto")
    assert story.ran == ["look a", "look b"]
    assert len(story.sentinels) == 1


def test_at_the_cap_without_an_answer_there_is_a_text_and_no_output():
    result = told(call("look", key="a"), "Out of steps.", steps=2).result
    assert (result.reason, result.output, result.text) == ("step_cap", None, "Out of steps.")


@pytest.mark.parametrize(
    ("schema", "arguments", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, {"value": [1, 2]}, [1, 2]),
        ({"type": "string"}, {"value": "yes"}, "yes"),
        ({"enum": ["yes", "no"]}, {"value": "no"}, "no"),
    ],
)
def test_an_answer_need_not_be_an_object(schema, arguments, value):
    assert told(call("structured_output", **arguments), schema=schema).result.output == value


def test_calls_beside_the_answer_are_run_before_the_turn_ends():
    story = told([call("look", key="a"), GIVEN])
    assert (story.result.reason, story.result.output, story.ran) == ("answered", GOOD, ["look a"])


def test_a_schema_that_is_none_is_refused_before_anything_starts():
    with pytest.raises(ConfigError, match="this is not a valid JSON schema: 'horse' is not valid"):
        told(GIVEN, schema={"type": "horse"})


@dataclass
class Horse:
    name: str
    age: int


class Mare(msgspec.Struct):
    name: str
    age: int


@pytest.mark.parametrize("kind", [Horse, Mare])
def test_the_library_gives_the_type_that_was_asked_for(kind):
    result = Agent(model=ScriptedModel([GIVEN]), output=kind).run_sync("who?")
    assert result.output == kind("Rocinante", 12)


def test_the_library_takes_other_types_too():
    given = call("structured_output", value=[{"name": "a", "age": 1}])
    assert Agent(model=ScriptedModel([given]), output=list[Horse]).run_sync("who?").output == [Horse("a", 1)]
    from pydantic import BaseModel

    class Pony(BaseModel):
        name: str
        age: int

    assert Agent(model=ScriptedModel([GIVEN]), output=Pony).run_sync("who?").output == Pony(name="Rocinante", age=12)


@pytest.mark.slow
def test_the_command_line_prints_it(tmp_path):
    (tmp_path / "project").mkdir()
    home = Home(tmp_path, tmp_path / "project")
    (home.project / "hello.txt").write_text("hello")
    (home.project / "horse.json").write_text(json.dumps(SCHEMA))
    model = home.script({"calls": [{"name": "structured_output", "arguments": GOOD}]})
    code, lines = home.json("--model", model, "--schema", "horse.json", "who?")
    assert (code, lines[-1]["output"], json.loads(lines[-1]["text"])) == (0, GOOD, GOOD)
    assert json.loads(home.run("run", "--model", model, "--schema", "horse.json", "who?").stdout) == GOOD
    never = home.script(*({"text": f"Words {number}."} for number in range(1, 9)))
    unmet = home.run("run", "--model", never, "--schema", "horse.json", "who?")
    assert (unmet.returncode, unmet.stdout) == (1, "Words 4.\n")
    code, lines = home.json("--model", never, "--schema", "horse.json", "who?")
    assert (code, lines[-1]["reason"], lines[-1]["output"], lines[-1]["text"]) == (1, "error", None, "Words 4.")
    bad = home.run("run", "--model", model, "--schema", "hello.txt", "who?")
    assert (bad.returncode, "--schema hello.txt is not a JSON schema" in bad.stderr) == (2, True)


def test_answers_that_never_fit_end_the_turn():
    story = told(*[call("structured_output", name="Rocinante", age=-number) for number in range(1, 40)])
    assert (story.result.reason, story.result.output, story.result.steps) == ("error", None, 5)
    assert story.sentinels == ["The turn failed: no answer met the schema"]


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_words_beside_the_answer_are_not_the_answer(steps):
    reply = Reply(text="Here it is.", calls=(GIVEN,))
    result = told(reply, steps=steps).result
    assert (json.loads(result.text), result.output) == (GOOD, GOOD)


def test_what_is_defined_apart_can_be_found_from_the_root():
    schema = {"type": "array", "items": {"$ref": "#/$defs/Horse"}, "$defs": {"Horse": SCHEMA}}
    story = told(call("structured_output", value=[GOOD]), schema=schema)
    (sent,) = [spec.schema for spec in story.model.requests[0].tools if spec.name == "structured_output"]
    assert (story.result.output, sent["$defs"]) == ([GOOD], {"Horse": SCHEMA})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}, "required": ["a"]},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$schema": [], "type": "object"},
    ],
    ids=["file", "address", "nonsense"],
)
def test_a_schema_that_names_something_elsewhere_is_refused(schema):
    with pytest.raises(ConfigError):
        tell(ScriptedModel([GIVEN, call("structured_output", a=1)], then="x"), options=TurnOptions(output=schema))


def test_a_reply_that_is_nested_without_end_is_only_words():
    result = told("[" * 30_000, GIVEN).result
    assert (result.reason, result.output) == ("answered", GOOD)


def test_the_schema_is_counted_before_the_request_is_paid_for():
    schema = {**SCHEMA, "description": "x" * 400_000}
    story = told(GIVEN, schema=schema, limits=Limits(tokens=50_000))
    assert (story.result.reason, len(story.model.requests)) == ("token_budget", 0)


def test_an_answer_that_cannot_be_read_is_refused_and_words_that_do_not_fit_are_words():
    wanted = OutputSchema({"type": "integer"})
    assert wanted.captured('{"value": 3}') == Done("3", result_digest("3"), answers=True)
    unread = wanted.captured("{")
    assert isinstance(unread, Refused) and unread.output.startswith("this is no JSON, or too deep: ")
    assert [wanted.found_in(words) for words in ("3", '"three"', "three", "```json\n3\n```")] == [
        '{"value":3}',
        "",
        "",
        '{"value":3}',
    ]
