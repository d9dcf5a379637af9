"""A tree of turns on PostgreSQL, whose worker is killed: another one goes on, and the collector gets one trace."""

import asyncio
import os
import signal

import pytest
from support.engine_app import runtime, workers
from support.otlp_receiver import Receiver, attributes_of

from bridle.core.replay import verified
from bridle.journal.worker_overview import overview

KIND = "procrastinate"
STORY = "act:a task:act:b_act:endless_say:below act:c say:over"
CHILD = "invoke_agent build / step 2 / execute_tool task / invoke_agent child"
TRACE = [
    "invoke_agent build",
    "invoke_agent build / step 1",
    "invoke_agent build / step 1 / chat m",
    "invoke_agent build / step 1 / execute_tool act",
    "invoke_agent build / step 2",
    "invoke_agent build / step 2 / chat m",
    "invoke_agent build / step 2 / execute_tool task",
    CHILD,
    f"{CHILD} / step 1",
    f"{CHILD} / step 1 / chat m",
    f"{CHILD} / step 1 / execute_tool act",
    f"{CHILD} / step 2",
    f"{CHILD} / step 2 / chat m",
    f"{CHILD} / step 2 / execute_tool act",
    f"{CHILD} / step 3",
    f"{CHILD} / step 3 / chat m",
    "invoke_agent build / step 3",
    "invoke_agent build / step 3 / chat m",
    "invoke_agent build / step 3 / execute_tool act",
    "invoke_agent build / step 4",
    "invoke_agent build / step 4 / chat m",
]


@pytest.fixture
def collector(monkeypatch):
    with Receiver() as receiver:
        given = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address,
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield receiver


async def until(is_true):
    while not is_true():
        await asyncio.sleep(0.02)


def sessions_of_calls(collector):
    """Return the sessions whose calls of the tool the collector has."""
    calls = [attributes_of(span) for span in collector.spans if span.name == "execute_tool act"]
    return {call["gen_ai.conversation.id"] for call in calls}


async def kill_the_driving_worker(journal, there):
    """Kill the one worker that drives a session; return once it is dead."""
    (pid,) = [each.process for each in (await overview(journal)).processes if each.sessions]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: any(process.poll() is not None for process in there.processes))


def test_a_tree_of_turns_over_two_workers_of_which_one_is_killed_is_one_trace(collector, tmp_path):
    async def story():
        with workers(tmp_path, KIND) as there:
            async with runtime(tmp_path, KIND) as here:
                session = await here.create()
                prompt = await here.prompt(session, STORY)
                acts = tmp_path / "acts"
                await until(lambda: acts.exists() and "endless" in acts.read_text())
                # The worker that dies has sent a part of the trace, which the other one continues.
                await until(lambda: sessions_of_calls(collector) - {session})
                await kill_the_driving_worker(here.journal, there)
                result = await here.wait(session, prompt)
                assert (result.reason, result.text) == ("answered", "over")
                assert verified(await here.journal.load(session)) is None
                await until(lambda: "invoke_agent build" in collector.paths())
                await here.journal.close()

    asyncio.run(asyncio.wait_for(story(), 120))
    assert collector.paths() == sorted(TRACE)
    assert len({span.trace_id for span in collector.spans}) == 1
    assert len(collector.processes) == 2
    (cut,) = {span.span_id: span for span in collector.spans if attributes_of(span).get("error.type")}.values()
    assert (cut.name, cut.status.code) == ("execute_tool act", 2)
