"""Measure the CPU of a step with and without telemetry, in turn, and compare it with the goal."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from support.otlp_receiver import Receiver

from bridle import Agent, Limits, Rule, ScriptedModel, call, tool
from bridle.config.collector_addresses import CollectorAddresses

GOAL_MS = 0.15
SIGNALS = ("traces", "metrics", "logs")
ROUNDS = 5


@tool
async def look(number: int) -> str:
    """Look at something."""
    return f"saw {number}"


def turn() -> None:
    """Run a turn of 100 steps."""
    agent = Agent(
        "steps",
        model=ScriptedModel([*([call("look", number=number)] for number in range(99)), "done"]),
        tools=[look],
        permission=[Rule("python", "*", "allow")],
        limits=Limits(tool_calls=200),
        steps=101,
    )
    result = agent.run_sync("begin")
    assert (result.reason, result.steps) == ("answered", 100), result.reason


def milliseconds_of_a_step(steps: int) -> float:
    """Return the CPU of a step in this process, until its spans are sent. Imports and the first turn do not count."""
    turn()
    began = time.process_time()
    for _ in range(steps // 100):
        turn()
    address = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if address:
        from bridle.telemetry.exporter import exporter

        wanted = (name for name in SIGNALS if os.environ.get(f"OTEL_{name.upper()}_EXPORTER") != "none")
        exporter(CollectorAddresses(**{name: f"{address}/v1/{name}" for name in wanted})).close()
    return (time.process_time() - began) * 1_000 / (steps // 100 * 100)


def measured(steps: int, address: str = "", *signals: str) -> float:
    """Measure in a process of its own, whose end sends the rest."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    if address:
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = address
        environment |= {f"OTEL_{name.upper()}_EXPORTER": "none" for name in SIGNALS if name not in signals}
    words = [sys.executable, "-m", "bench.telemetry", "--steps", str(steps), "--here"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run telemetry")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    given = parser.parse_args()
    if given.here:
        print(milliseconds_of_a_step(given.steps))
        return
    plain, traced, whole = [], [], []
    with Receiver() as receiver:
        for _ in range(given.rounds):
            plain.append(measured(given.steps))
            traced.append(measured(given.steps, receiver.address, "traces"))
            whole.append(measured(given.steps, receiver.address, *SIGNALS))
        received = len({span.span_id for span in receiver.spans})
    least = min(plain)
    more = min(traced) - least
    print(f"{given.rounds} rounds of {given.steps} steps, CPU milliseconds of a step in the best round:")
    print(f"- without telemetry: {least:.3f}")
    print(f"- with traces: {min(traced):.3f}")
    print(f"- with traces, metrics and logs: {min(whole):.3f}")
    print(f"- spans that arrived: {received}")
    print(f"- {'met' if more <= GOAL_MS else 'MISSED'}: the spans of a step cost {more:.3f} ms (goal {GOAL_MS})")


if __name__ == "__main__":
    main()
