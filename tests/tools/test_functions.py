"""A Python function becomes a tool: schema from hints, words from the docstring."""

from typing import Literal

import pytest

from bridle import Agent, ConfigError, Output, ScriptedModel, ToolFailed, call, tool


def search(query: str, limit: int = 10, kind: Literal["web", "news"] = "web", tags: list[str] | None = None) -> dict:
    """Search the index.

    Longer words about it.

    Args:
        query: what to look for
        limit (int): how many at most

    Returns:
        what was found
    """
    if query == "fail":
        raise ToolFailed("the index is down")
    return {"query": query, "limit": limit, "kind": kind, "tags": tags}


def test_schema_and_words_come_from_the_function():
    made = tool(search)
    assert (made.spec.name, made.spec.description) == ("search", "Search the index.\n\nLonger words about it.")
    assert made.spec.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "description": "how many at most", "default": 10},
            "kind": {"enum": ["news", "web"], "default": "web"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def last_result(model):
    return model.requests[-1].messages[-1]


@pytest.mark.parametrize(
    ("arguments", "text", "failed"),
    [
        ({"query": "x", "limit": "3"}, '{"query":"x","limit":3,"kind":"web","tags":null}', False),
        ({"query": "fail"}, "the index is down", True),
        ({"limit": 3}, "The arguments do not fit search: Object missing required field `query`", True),
    ],
    ids=["coerced", "failed", "invalid"],
)
def test_what_the_model_reads(arguments, text, failed):
    model = ScriptedModel([call("search", **arguments), "done"])
    Agent(model=model, tools=[search]).run_sync("go")
    assert last_result(model).text.startswith(text)
    assert last_result(model).failed == failed


def test_outputs_may_name_the_files_that_changed():
    @tool(name="touch")
    def change() -> Output:
        """Change something."""
        return Output("changed", files=("a.txt",))

    result = Agent(model=ScriptedModel([call("touch"), "done"]), tools=[change]).run_sync("go")
    assert result.files == ("a.txt",)


def test_a_function_without_hints_is_refused_by_name():
    def bad(x):
        """Bad."""

    with pytest.raises(ConfigError, match="tool bad: parameter x has no type hint"):
        tool(bad)

    def worse(*many: int):
        """Worse."""

    with pytest.raises(ConfigError, match="parameter many must be an ordinary named one"):
        tool(worse)


def test_whatever_a_tool_raises_ends_its_call_and_not_the_turn():
    def crash() -> str:
        """Crash."""
        raise KeyError("oops")

    def odd() -> object:
        """Return what is no JSON."""
        return object()

    model = ScriptedModel([[call("crash"), call("odd")], "done"])
    result = Agent(model=model, tools=[crash, odd]).run_sync("go")
    texts = [message.text for message in model.requests[-1].messages[-2:]]
    assert result.reason == "answered"
    assert texts[0] == "crash failed: KeyError: 'oops'"
    assert texts[1].startswith("the tool returned a value that cannot be encoded as JSON")
