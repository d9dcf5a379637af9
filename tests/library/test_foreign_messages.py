"""Conversations in the shapes that OpenAI and Anthropic document are read as one conversation, or refused by name."""

import json
import random
from base64 import b64encode

import pytest
from support.odd_texts import PIECES

from bridle import ConfigError, from_anthropic, from_openai, to_anthropic, to_openai
from bridle.core.history import NO_RESULT, whole
from bridle.core.messages import (
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    ResultMessage,
    UserMessage,
)

PNG = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 8).decode()
PDF = b64encode(b"%PDF-1.4 \n").decode()
NOTE = b64encode(b"milk").decode()
IMAGE = Attachment("image", "image/png", PNG)


def user(text, *files):
    return UserMessage("", text, files)


def reply(*blocks):
    return AssistantMessage("", tuple(AssistantText(block) if isinstance(block, str) else block for block in blocks))


def result(call, name, text, failed=False):
    return ResultMessage("", call, name, text, failed)


def made(id, name, **arguments):
    return CallMessage(id, name, json.dumps(arguments, separators=(",", ":")))


def expected(*messages):
    return list(whole(("here", message) for message in messages))


def function(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI = {
    "a system message before the conversation is left out": (
        [
            {"role": "developer", "content": "You are a helpful assistant."},
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": "Hello!"},
        ],
        [user("Hello!")],
    ),
    "a later one is read as a message of the user": (
        [
            {"role": "assistant", "content": "Hello! How can I help?", "refusal": None, "annotations": []},
            {"role": "system", "content": "The user is on the page of prices."},
            {"role": "user", "content": "How much?", "name": "ann"},
        ],
        [reply("Hello! How can I help?"), user("The user is on the page of prices."), user("How much?")],
    ),
    "parallel calls with empty arguments and results in another order": (
        [
            {"role": "user", "content": "What's the weather like in Paris?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [function("call_a", "weather", '{"city": "Paris"}'), function("call_b", "now", "")],
            },
            {"role": "tool", "tool_call_id": "call_b", "content": "noon"},
            {"role": "tool", "tool_call_id": "call_a", "content": [{"type": "text", "text": "21"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Nice."}], "reasoning_content": "hm"},
        ],
        [
            user("What's the weather like in Paris?"),
            reply(CallMessage("call_a", "weather", '{"city": "Paris"}'), CallMessage("call_b", "now", "{}")),
            result("call_b", "now", "noon"),
            result("call_a", "weather", "21"),
            reply("Nice."),
        ],
    ),
    "ids that repeat, as local servers give them, and a call that was never answered": (
        [
            {"role": "assistant", "content": "", "tool_calls": [function("call_0", "now", "{}")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "one"},
            {"role": "assistant", "tool_calls": [function("call_0", "now", "{}")]},
        ],
        [
            reply(made("call_0", "now")),
            result("call_0", "now", "one"),
            reply(made("0.history.3.0", "now")),
            result("0.history.3.0", "now", NO_RESULT, failed=True),
        ],
    ),
    "images, documents and text files": (
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{PNG}", "detail": "low"}},
                    {"type": "text", "text": "What is in these?"},
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
                    {"type": "file", "file": {"file_data": f"data:text/plain;charset=utf-8;base64,{NOTE}"}},
                ],
            }
        ],
        [
            user("", IMAGE),
            user("What is in these?", Attachment("a.pdf", "application/pdf", PDF)),
            user('<file path="document">\nmilk\n</file>'),
        ],
    ),
    "a refusal is text, and a reply that says nothing is left out": (
        [
            {"role": "user", "content": "Do harm."},
            {"role": "assistant", "content": None, "refusal": "I cannot."},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "Really."}]},
            {"role": "assistant", "content": None},
        ],
        [user("Do harm."), reply("I cannot."), reply("Really.")],
    ),
}


@pytest.mark.parametrize("name", OPENAI)
def test_the_shapes_of_openai_are_read(name):
    given, wanted = OPENAI[name]
    found = from_openai(given)
    assert found == expected(*wanted)
    assert from_openai(to_openai(found)) == [_without_failure(message) for message in found]


def _without_failure(message):
    return ResultMessage(message.id, message.call, message.name, message.text) if _failed(message) else message


def _failed(message):
    return isinstance(message, ResultMessage) and message.failed


def tool_use(id, name, **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def source(media, data):
    return {"type": "base64", "media_type": media, "data": data}


ANTHROPIC = {
    "texts": (
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}],
        [user("Hi"), reply("Hello.")],
    ),
    "thoughts are left out, failed results stay failed, and what follows results is a message": (
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
                    {"type": "redacted_thinking", "data": "Emw"},
                    {"type": "text", "text": "I look."},
                    tool_use("toolu_01", "weather", city="Paris"),
                    tool_use("toolu_02", "now"),
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_01", "content": "no such city", "is_error": True},
                    {"type": "tool_result", "tool_use_id": "toolu_02"},
                    {"type": "text", "text": "Hurry.", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
        [
            reply("I look.", made("toolu_01", "weather", city="Paris"), made("toolu_02", "now")),
            result("toolu_01", "weather", "no such city", failed=True),
            result("toolu_02", "now", ""),
            user("Hurry."),
        ],
    ),
    "images before their text": (
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Image 1:"},
                    {"type": "image", "source": source("image/png", PNG)},
                    {"type": "document", "title": "paper", "source": source("application/pdf", PDF)},
                    {"type": "text", "text": "What is it?"},
                ],
            }
        ],
        [user("Image 1:", IMAGE, Attachment("paper", "application/pdf", PDF)), user("What is it?")],
    ),
    "documents that are text": (
        [
            {
                "role": "user",
                "content": [
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "milk"}},
                    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "tea"}]}},
                ],
            }
        ],
        [user('<file path="document">\nmilk\n</file>'), user('<file path="document">\ntea\n</file>')],
    ),
}


@pytest.mark.parametrize("name", ANTHROPIC)
def test_the_shapes_of_anthropic_are_read(name):
    given, wanted = ANTHROPIC[name]
    assert from_anthropic(given) == expected(*wanted)


def test_an_image_in_a_result_follows_the_results():
    seen = [{"type": "text", "text": "a screen"}, *SCREEN]
    given = [
        {"role": "assistant", "content": [tool_use("a", "screen"), tool_use("b", "screen")]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": seen},
                {"type": "tool_result", "tool_use_id": "b", "content": "dark"},
            ],
        },
    ]
    shown = UserMessage("", "[read: image]", (IMAGE,), "attached")
    replied = reply(made("a", "screen"), made("b", "screen"))
    assert from_anthropic(given) == expected(
        replied, result("a", "screen", "a screen"), result("b", "screen", "dark"), shown
    )


class Dumped:
    """An object as the SDKs of providers return it."""

    def __init__(self, **fields):
        self._fields = fields

    def model_dump(self):
        return self._fields


def test_objects_of_the_sdks_are_read_as_their_json():
    replied = Dumped(role="assistant", content=None, tool_calls=[Dumped(**function("c", "now", "{}"))])
    blocks = [Dumped(type="text", text="hm"), Dumped(**tool_use("c", "now"))]
    assert from_openai(each for each in [replied]) == expected(reply(made("c", "now")))
    assert from_anthropic([{"role": "assistant", "content": blocks}]) == expected(reply("hm", made("c", "now")))


SCREEN = [{"type": "image", "source": source("image/png", PNG)}]
ASKED = {"role": "user", "content": "x"}
CALLED = {"role": "assistant", "tool_calls": [function("c", "now", "{}")]}
REFUSED = [
    (from_openai, {"messages": []}, "messages must be a list, not dict"),
    (from_openai, "Hi", "messages must be a list, not str"),
    (from_openai, ["Hi"], r"messages\[0\] must be an object, not str"),
    (from_openai, [{"content": "x"}], r"messages\[0\].role is missing"),
    (from_openai, [{"role": 5}], r"messages\[0\].role must be a text, not int"),
    (from_openai, [ASKED, {"role": "critic"}], r"messages\[1\].role is 'critic'; known: system, developer, user"),
    (from_openai, [{"role": "function", "name": "f", "content": "x"}], r"messages\[0\].role is 'function'"),
    (from_openai, [{"role": "user"}], r"messages\[0\].content is missing"),
    (from_openai, [{"role": "user", "content": [{"text": "x"}]}], r"messages\[0\].content\[0\].type is missing"),
    (from_openai, [{"role": "user", "content": [{"type": "input_audio"}]}], r"content\[0\].type is 'input_audio'"),
    (
        from_openai,
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}],
        r"messages\[0\].content\[0\].image_url.url must be a data: address",
    ),
    (
        from_openai,
        [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}],
        "file.file_data is missing",
    ),
    (
        from_openai,
        [{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:text/plain;base64,%%"}}]}],
        "file.file_data is not base64",
    ),
    (
        from_openai,
        [{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:audio/wav;base64,aGk="}}]}],
        "document is neither an image nor a PDF",
    ),
    (from_openai, [{"role": "assistant", "function_call": {"name": "f"}}], r"messages\[0\].function_call is the older"),
    (
        from_openai,
        [{"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]}],
        r"messages\[0\].tool_calls\[0\].function is missing",
    ),
    (
        from_openai,
        [{"role": "assistant", "tool_calls": [function("c", "now", '{"a":')]}],
        r"messages\[0\].tool_calls\[0\].function.arguments is not a JSON object",
    ),
    (
        from_openai,
        [CALLED, ASKED, {"role": "tool", "tool_call_id": "c", "content": "x"}],
        r"messages\[2\].tool_call_id is a result, but no call 'c' before it awaits one",
    ),
    (
        from_openai,
        [CALLED, {"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url"}]}],
        r"messages\[1\].content\[0\].type is 'image_url'; here only text is known",
    ),
    (from_anthropic, [{"role": "tool", "content": ""}], r"messages\[0\].role is 'tool'; known: user, assistant"),
    (
        from_anthropic,
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}]}],
        r"messages\[0\].content\[0\].tool_use_id is a result, but no call 't'",
    ),
    (
        from_anthropic,
        [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "tool_result", "tool_use_id": "t"}]}],
        r"messages\[0\].content must have its tool_result blocks first",
    ),
    (
        from_anthropic,
        [{"role": "assistant", "content": [{"type": "server_tool_use"}]}],
        r"messages\[0\].content\[0\].type is 'server_tool_use'; known: text, tool_use",
    ),
    (
        from_anthropic,
        [{"role": "user", "content": [{"type": "search_result"}]}],
        r"content\[0\].type is 'search_result'",
    ),
    (
        from_anthropic,
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": "{}"}]}],
        r"content\[0\].input must be an object, not str",
    ),
    (
        from_anthropic,
        [{"role": "assistant", "content": [tool_use("t", "n", at=object())]}],
        r"content\[0\].input is not JSON",
    ),
    (
        from_anthropic,
        [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://a.example"}}]}],
        r"content\[0\].source.type is 'url'; known: base64, text, content",
    ),
    (
        from_anthropic,
        [{"role": "user", "content": [{"type": "document", "source": {"type": "content", "content": SCREEN}}]}],
        "has files inside a document",
    ),
]


@pytest.mark.parametrize(("read", "given", "said"), REFUSED)
def test_bad_input_is_refused_with_the_path_to_it(read, given, said):
    with pytest.raises(ConfigError, match=said):
        read(given)


WORDS = [*PIECES, "Hello.", "one two", "\ud800"]


def conversation(chance):
    """Return a conversation as both shapes can hold it: users and replies take turns, and results do not fail."""
    found = []
    for _ in range(chance.randint(1, 6)):
        files = [IMAGE] * chance.choice([0, 0, 0, 1, 2])
        found.append(user(chance.choice(WORDS).strip() + ".", *files))
        calls = [made(f"call_{chance.randrange(4)}{n}", f"tool_{n}", a=n) for n in range(chance.randint(0, 3))]
        found.append(reply(chance.choice(WORDS).strip() + "!", *calls))
        if calls:
            given = chance.sample(calls, chance.randint(0, len(calls)))
            found += [result(call.id, call.name, chance.choice(WORDS).strip() + "?") for call in given]
            found += [result(call.id, call.name, "none") for call in calls if call not in given]
            found.append(reply("so"))
    return expected(*found)


@pytest.mark.parametrize("seed", range(60))
def test_a_conversation_that_both_shapes_hold_comes_back_from_each(seed):
    messages = conversation(random.Random(seed))
    assert from_openai(to_openai(messages)) == messages
    assert from_anthropic(to_anthropic(messages)) == messages
    assert to_openai(from_anthropic(to_anthropic(messages))) == to_openai(messages)
    assert list(whole(("again", message) for message in messages)) == messages
