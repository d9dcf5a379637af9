"""Turns as traces, metrics and logs, sent to a collector on loopback."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest
from opentelemetry.sdk.trace import TracerProvider
from support.otlp_receiver import Receiver, attributes_of

from bridle import Agent, Context, Rule, ScriptedModel, call, tool
from bridle.config.collector_addresses import CollectorAddresses
from bridle.config.settings import Settings, TelemetrySettings
from bridle.telemetry.exporter import exporter
from bridle.values.provider import Provider as ModelProvider

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ALLOW = [Rule("python", "*", "allow"), Rule("task", "*", "allow")]
MAIN = "from bridle.surfaces.cli.main import main; main()"
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


@tool
async def look(key: str) -> str:
    """Look at something."""
    return f"saw {key}"


@tool
async def breaks() -> str:
    """Fail."""
    raise RuntimeError("the wire is cut")


@pytest.fixture
def collector():
    with Receiver() as receiver:
        yield receiver


def settings(collector, **given):
    return Settings(
        telemetry=TelemetrySettings(**{"endpoint": collector.address, "metrics": False, "logs": False, **given})
    )


def watched(collector, *script, tools=(look, breaks), given=None, **more):
    model = ScriptedModel(list(script))
    found = settings(collector, **(given or {}))
    return Agent("watched", model=model, tools=list(tools), permission=ALLOW, settings=found, **more)


def flush(collector, *signals):
    names = {name: f"{collector.address}/v1/{name}" for name in signals or ("traces",)}
    exporter(CollectorAddresses(**names)).close()
    exporter.cache_clear()


def named(collector, name):
    (span,) = {span.span_id: span for span in collector.spans if span.name == name}.values()
    return span


def test_a_turn_is_one_trace_of_its_steps_requests_and_calls(collector):
    result = watched(collector, [call("look", key="a"), call("breaks")], "done").run_sync("begin")
    flush(collector)
    assert collector.tree() == {
        "": ("invoke_agent watched",),
        "invoke_agent watched": ("step 1", "step 2"),
        "step 1": ("chat model", "execute_tool look", "execute_tool breaks"),
        "step 2": ("chat model",),
    }
    assert len({span.trace_id for span in collector.spans}) == 1 and collector.services == {"bridle"}
    root = named(collector, "invoke_agent watched")
    told = attributes_of(root)
    assert (told["bridle.reason"], told["gen_ai.conversation.id"]) == ("answered", result.session)
    assert told["gen_ai.usage.input_tokens"] == result.usage.input
    failed = named(collector, "execute_tool breaks")
    assert (root.status.code, failed.status.code, attributes_of(failed)["error.type"]) == (0, 2, "failed")
    assert "saw a" not in str(collector.spans) and "begin" not in str(collector.spans)


def test_subagents_and_nested_runs_are_below_the_calls_that_started_them(collector):
    inner = Agent("inner", model=ScriptedModel(["inside"]), settings=settings(collector))
    helper = Agent("helper", model=ScriptedModel(["helped"]), description="Helps.")

    @tool
    async def nests(ctx: Context) -> str:
        """Run another agent."""
        return (await ctx.run(inner, "go")).output

    delegate = call("task", description="help", prompt="help", subagent_type="helper")
    outer = watched(collector, [delegate, call("nests")], "done", tools=[nests], subagents=[helper])
    outer.run_sync("begin", metadata={"traceparent": CALLER})
    flush(collector)
    tree = collector.tree()
    assert tree["execute_tool task"] == ("invoke_agent helper",)
    assert tree["execute_tool nests"] == ("invoke_agent inner",)
    assert {span.trace_id.hex() for span in collector.spans} == {CALLER.split("-")[1]}
    assert named(collector, "invoke_agent watched").parent_span_id.hex() == CALLER.split("-")[2]


def test_a_run_inside_a_span_of_its_program_is_part_of_that_trace(collector):
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("app")
    with tracer.start_as_current_span("request") as request:
        watched(collector, "done").run_sync("begin")
    flush(collector)
    root, above = named(collector, "invoke_agent watched"), request.get_span_context()
    assert (int(root.trace_id.hex(), 16), int(root.parent_span_id.hex(), 16)) == (above.trace_id, above.span_id)


def test_a_caller_that_samples_nothing_gets_no_spans(collector):
    agent = watched(collector, "first", "second")
    agent.run_sync("begin", metadata={"traceparent": CALLER[:-1] + "0"})
    agent.run_sync("begin", metadata={"traceparent": "no place at all"})
    flush(collector)
    assert collector.tree()[""] == ("invoke_agent watched",)


def test_content_is_sent_only_on_request_and_without_keys(collector):
    watched(collector, [call("look", key=SECRET)], "the answer", given={"content": True}).run_sync(f"use {SECRET}")
    flush(collector)
    root = attributes_of(named(collector, "invoke_agent watched"))
    asked, answered = (json.loads(root[f"gen_ai.{side}.messages"]) for side in ("input", "output"))
    assert asked == [{"role": "user", "parts": [{"type": "text", "content": "use [redacted]"}]}]
    assert answered[0]["parts"][0]["content"] == "the answer"
    looked = attributes_of(named(collector, "execute_tool look"))
    assert looked["gen_ai.tool.call.result"] == "saw [redacted]"
    assert SECRET not in str(collector.spans)


def test_metrics_and_logs_tell_what_was_used_and_how_turns_ended(collector):
    signals = {"traces": False, "metrics": True, "logs": True}
    watched(collector, [call("breaks")], "done", given=signals).run_sync("begin")
    flush(collector, "metrics", "logs")
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "bridle.turns"} <= set(collector.metrics)
    (ended,) = collector.metrics["bridle.turns"].sum.data_points
    assert (ended.as_int, attributes_of(ended)["bridle.reason"]) == (1, "answered")
    lines = [record.body.string_value for record in collector.logs]
    assert lines[0] == "request to model: answered" and "call of breaks: failed" in lines
    assert lines[-1].startswith("turn 1 ended: answered, 2 steps, 1 calls, $0.0000")
    assert collector.spans == []


def test_endings_of_turns_are_in_pythons_log(caplog):
    caplog.set_level(logging.INFO, "bridle.turns")
    Agent(model=ScriptedModel(["done"])).run_sync("begin")
    assert [record.message for record in caplog.records] == ["turn 1 ended: answered, 1 steps, 0 calls, $0.0000"]


class Provider(BaseHTTPRequestHandler):
    """A provider that keeps the headers of the requests it gets."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.server.heard.append(self.headers)
        piece = {"choices": [{"delta": {"content": "hello"}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        return


def test_requests_to_providers_carry_their_place_in_the_trace(collector):
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        server.heard = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ours = ModelProvider("chat", f"http://127.0.0.1:{server.server_address[1]}/v1", auth="none")
        found = msgspec.structs.replace(settings(collector), providers={"ours": ours})
        assert Agent("watched", model="ours/large", settings=found).run_sync("begin").text == "hello"
        server.shutdown()
    flush(collector)
    (headers,) = server.heard
    chat = named(collector, "chat large")
    assert headers["traceparent"] == f"00-{chat.trace_id.hex()}-{chat.span_id.hex()}-01"


PROGRAM = """
import asyncio, os, sys
from bridle import Agent, Rule, ScriptedModel, call, tool

@tool
async def quick() -> str:
    "Return at once."
    return "quick"

@tool
async def slow() -> str:
    "Never return in the first process."
    if sys.argv[2] == "first":
        print("slow", flush=True)
        await asyncio.sleep(600)
    return "slow"

ALLOW = [Rule("python", "*", "allow"), Rule("task", "*", "allow")]
helper = Agent("helper", model=ScriptedModel([[call("slow")], "helped"]), tools=[slow], description="Helps.")
task = call("task", description="help", prompt="help", subagent_type="helper")
agent = Agent("watched", model=ScriptedModel([[call("quick"), task], "done"]), tools=[quick], subagents=[helper],
              permission=ALLOW, journal=sys.argv[1])
if sys.argv[2] == "first":
    agent.run_sync("begin", id="one")
else:
    print(asyncio.run(agent.resume("one")).text)
"""


def test_a_turn_that_a_killed_process_began_and_another_ended_is_one_trace(collector, tmp_path):
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
    }
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "journal.db")]
    first = subprocess.Popen([*words, "first"], env=environment, stdout=subprocess.PIPE)
    assert first.stdout.readline() == b"slow\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    second = subprocess.run([*words, "second"], env=environment, capture_output=True, text=True, check=False)
    assert second.stdout == "done\n", second.stderr
    assert len({span.trace_id for span in collector.spans}) == 1
    tree = collector.tree()
    assert tree[""] == ("invoke_agent watched",)
    assert tree["execute_tool task"] == ("invoke_agent helper",)
    assert set(tree["step 1"]) == {"chat model", "execute_tool quick", "execute_tool task", "execute_tool slow"}


def test_a_command_is_part_of_the_trace_of_the_program_that_has_started_it(collector, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "play.yaml").write_text("replies: [hello]")
    environment = {**os.environ, "HOME": str(tmp_path), "TRACEPARENT": CALLER}
    environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.address
    words = [sys.executable, "-c", MAIN, "run", "--model", "scripted:play.yaml", "begin"]
    done = subprocess.run(words, env=environment, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "hello\n", done.stderr
    assert named(collector, "invoke_agent build").trace_id.hex() == CALLER.split("-")[1]


def test_a_collector_that_is_away_breaks_no_turn_and_holds_no_process_up(tmp_path):
    program = "from bridle import Agent, ScriptedModel; print(Agent(model=ScriptedModel(['done'])).run_sync('x').text)"
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("done\n", 0)


def test_without_configuration_nothing_of_it_is_imported():
    program = (
        "import sys; from bridle import Agent, ScriptedModel; Agent(model=ScriptedModel(['done'])).run_sync('x'); "
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'bridle.telemetry'))])"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
