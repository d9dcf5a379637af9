"""A conversation from before the first turn, as a reader sees it."""

from bridle.core.history import NO_RESULT, parts_of
from bridle.core.messages import AssistantMessage, AssistantText, CallMessage, ResultMessage, Thought, UserMessage
from bridle.core.parts import Call, Prompt, Reasoning, Text
from bridle.core.states import Done, Failed


def test_messages_become_parts_with_their_results():
    made = [CallMessage(id, "f", "{}") for id in ("a", "b", "c")]
    reply = AssistantMessage("2", (Thought("hm", "{}"), AssistantText("yes"), *made))
    results = [ResultMessage("3", "a", "f", "one"), ResultMessage("4", "b", "f", "no", failed=True)]
    assert list(parts_of([UserMessage("1", "go"), reply, *results])) == [
        Prompt("1", "go"),
        Reasoning("2.0", "hm", "{}"),
        Text("2.1", "yes"),
        Call("2.2", "f", "{}", "", Done("one", "")),
        Call("2.3", "f", "{}", "", Failed("no", "")),
        # A record that was edited by hand may lack a result.
        Call("2.4", "f", "{}", "", Failed(NO_RESULT, "")),
    ]
