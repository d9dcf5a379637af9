"""A scripted model over HTTP, asked by a real client."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from bridle.errors import ConfigError
from bridle.testing.scripted import Reply, Scenario as Script, ScriptedCall, ScriptedError, ScriptedModel, read_scenario
from bridle.testing.server import ScriptedServer
from bridle.testing.validators import problems_in_chat

USER = {"role": "user", "content": "hi"}


def ask(script, *bodies, stream=True):
    async def work():
        answers = []
        async with ScriptedServer(script) as server, httpx2.AsyncClient(timeout=60) as client:
            for messages in bodies:
                body = {"model": "m", "messages": messages, "stream": stream}
                try:
                    answer = await client.post(f"{server.address}/v1/chat/completions", json=body)
                except httpx2.TransportError as error:
                    answers.append(error)
                else:
                    answers.append(answer)
        return answers

    return asyncio.run(work())


def chunks(answer):
    return [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]


def test_a_reply_streams_in_the_chat_wire():
    reply = Reply(text="Hello.", reasoning="Hm.", calls=(ScriptedCall("read", {"filePath": "a"}, "c1"),), chunk=3)
    (answer,) = ask(Script([reply]), [USER])
    *parsed, last = chunks(answer)
    parsed = [json.loads(chunk) for chunk in parsed]
    deltas = [chunk["choices"][0]["delta"] for chunk in parsed if chunk["choices"]]
    assert last == "[DONE]"
    assert "".join(delta.get("content", "") for delta in deltas) == "Hello."
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Hm."
    (made,) = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert (made["id"], made["function"]) == ("c1", {"name": "read", "arguments": '{"filePath":"a"}'})
    assert [chunk["choices"][0]["finish_reason"] for chunk in parsed if chunk["choices"]][-1] == "tool_calls"
    assert parsed[-1]["usage"]["prompt_tokens"] == 10


def test_without_streaming_the_whole_reply_comes_at_once():
    (answer,) = ask(Script(["Hello."]), [USER], stream=False)
    assert answer.json()["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "Hello."},
        "finish_reason": "stop",
    }


def test_errors_cuts_and_the_end_of_the_script():
    failing = Reply(error=ScriptedError("slow down", 429, {"retry-after": "7"}))
    script = Script([failing, Reply(text="abc", cut=4), Reply(text="ab", error=ScriptedError("late"))])
    first, cut, late, none = ask(script, [USER], [USER], [USER], [USER])
    assert (first.status_code, first.headers["retry-after"], first.json()["error"]["message"]) == (
        429,
        "7",
        "slow down",
    )
    assert "[DONE]" not in cut.text and "abc" in cut.text
    assert "[DONE]" not in late.text and '"error":{"message":"late"}' in late.text
    assert (none.status_code, "no reply for request 4" in none.text) == (500, True)


def test_a_request_that_no_provider_would_take_is_refused():
    orphan = [USER, {"role": "assistant", "content": "", "tool_calls": [made("c1")]}, USER]
    (answer,) = ask(Script(["never"]), orphan)
    assert (answer.status_code, "calls without a result: c1" in answer.text) == (400, True)


def made(id, arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}


def result(id):
    return {"role": "tool", "tool_call_id": id, "content": "x"}


def called(*calls):
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


INVALID = [
    ("a prefill", [USER, {"role": "assistant", "content": "I"}], "would be a prefill"),
    ("nothing", [], "would be a prefill"),
    ("an orphan call", [USER, called(made("a")), USER], "calls without a result: a"),
    ("an orphan result", [USER, result("a")], "which is not open"),
    ("a second result", [USER, called(made("a")), result("a"), result("a")], "which is not open"),
    ("an id used twice", [USER, called(made("a"), made("a")), result("a"), result("a")], "was used before"),
    ("arguments that are no object", [USER, called(made("a", "[1]")), result("a")], "are no JSON object"),
    ("an empty reply", [USER, {"role": "assistant", "content": ""}, USER], "neither text nor calls"),
    ("an empty prompt", [{"role": "user", "content": ""}], "no text"),
    ("a late system message", [USER, {"role": "system", "content": "x"}, USER], "a system message here"),
]


@pytest.mark.parametrize(("name", "messages", "words"), INVALID, ids=[row[0] for row in INVALID])
def test_the_validator_sees(name, messages, words):
    assert words in "; ".join(problems_in_chat(messages))


def test_the_validator_passes_what_is_sound():
    sound = [{"role": "system", "content": "s"}, USER, USER, called(made("a"), made("b")), result("b"), result("a")]
    assert problems_in_chat(sound) == []


SCENARIO = """
replies:
  - Just words
  - text: with a call
    calls: [{name: read, arguments: {filePath: a}}]
    times: 2
then: {text: for ever}
price: {input: 1, output: 2}
"""


def test_scenarios_are_read_from_yaml_and_json(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    model = ScriptedModel.load(tmp_path / "s.yaml")
    assert [reply.text for reply in model._replies] == ["Just words", "with a call", "with a call"]
    assert (model.info.price.output, model._then.text) == (2, "for ever")
    (tmp_path / "s.json").write_text('["one", {"text": "two"}]')
    assert read_scenario(tmp_path / "s.json").replies == ["one", Reply(text="two")]


@pytest.mark.parametrize("text", ["replies: [{txt: typo}]", "replies: {", "3", "replies: [{times: many}]", "\x00"])
def test_a_scenario_that_makes_no_sense_names_its_file(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"bad\.yaml: not a scenario"):
        ScriptedModel.load(path)


@pytest.mark.parametrize("text", ["KEY: PW\nother: [PW", "PW\tkey: x", "- *PW", "x: !!PW", "PW", "[" * 20_000 + "PW"])
def test_an_error_about_a_scenario_quotes_none_of_the_file(tmp_path, text):
    """Clients of a server name scenarios too, also files that they may not read."""
    path = tmp_path / "settings"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not a scenario") as caught:
        read_scenario(path)
    assert "PW" not in str(caught.value)


def test_the_command_serves_until_it_is_stopped(tmp_path):
    (tmp_path / "s.json").write_text('["hi"]')
    command = [Path(sys.executable).parent / "bridle", "testing", "serve", tmp_path / "s.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[-1]
        answer = httpx2.post(f"{address}/chat/completions", json={"messages": [USER]}, timeout=60)
        models = httpx2.get(f"{address}/models", timeout=60)
        try:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert models.json()["data"][0]["id"] == "scripted"
