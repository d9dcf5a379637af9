"""Bridle, the bare floor and the peers, interleaved in one run: a table of costs and of ratios."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from contender import CONTENDERS, Contender, prepare
from costs_page import OURS as OUR_COMMAND
from costs_page import PLOTS, draw, page
from starts import Command, commands, opencode, prepare_opencode
from whole import measured

SHORT_SECONDS = 3.0

OURS = [
    Contender("bare asyncio loop", "with_bare"),
    Contender("Bridle, memory", "with_bridle", ("--mode", "memory")),
    Contender("Bridle, memory, capped", "with_bridle", ("--mode", "memory", "--capped")),
    Contender("Bridle, SQLite, process", "with_bridle", ("--mode", "process"), durable=True),
    Contender("Bridle, SQLite, power (default)", "with_bridle", ("--mode", "power"), durable=True),
]
PEERS = [
    Contender("agno, memory", "with_agno", needs=("agno",)),
    Contender("pydantic-ai, memory", "with_pydantic_ai", needs=("pydantic-ai-slim",)),
    Contender(
        "langgraph, SQLite saver",
        "with_langgraph",
        needs=("langchain", "langgraph", "langgraph-checkpoint-sqlite"),
        durable=True,
    ),
    Contender("openai-agents, SQLite session", "with_openai_agents", needs=("openai-agents",), durable=True),
    Contender("smolagents, memory", "with_smolagents", needs=("smolagents",)),
    Contender("mini-swe-agent, trajectory", "with_mini_swe_agent", needs=("mini-swe-agent", "mcp")),
]


def run(contender: Contender, steps: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        script = CONTENDERS / f"{contender.script}.py"
        command = [contender.python, script, "--steps", str(steps), "--data", f"{folder}/data", *contender.flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        raise SystemExit(f"{contender.name} failed:\n{done.stderr}")
    contender.reports.append(json.loads(done.stdout.splitlines()[-1]))


def measure_commands(found: list[Command], steps: int, theirs: int, missing: list[str]) -> list[Contender]:
    """Whole commands, as contenders; those of others take fewer steps, since theirs are long."""
    made = []
    for command in found:
        print(command.name, file=sys.stderr, flush=True)
        try:
            report = measured(command, steps if command.name == OUR_COMMAND else theirs)
        except TimeoutError:
            missing.append(f"- {command.name} did not come to its end")
            continue
        made.append(Contender(command.name, "", reports=[report]))
    return made


def enrolled(*, peers: bool) -> tuple[list[Contender], list[Command], list[str]]:
    """Who takes part, with which commands, and who could not."""
    contenders, missing = list(OURS), []
    started = [command for command in commands() if command.name == OUR_COMMAND]
    for peer in PEERS if peers else []:
        problem = prepare(peer)
        if problem:
            missing.append(f"- {peer.name} could not be installed: {problem}")
        else:
            contenders.append(peer)
    if peers:
        problem = prepare_opencode()
        if problem:
            missing.append(f"- OpenCode could not be installed: {problem}")
        else:
            started.append(opencode())
    return contenders, started, missing


def rounds(contenders: list[Contender], given: argparse.Namespace) -> None:
    """Run everybody in turn; a short run is easily disturbed, and cheap to do again."""
    for number in range(given.rounds):
        for contender in contenders:
            print(f"round {number + 1}/{given.rounds}: {contender.name}", file=sys.stderr, flush=True)
            run(contender, given.steps)
            most = given.again * (number + 1)
            while contender.reports[-1]["cpu_seconds"] < SHORT_SECONDS and len(contender.reports) < most:
                run(contender, given.steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", type=int, default=10, help="how often a short run is done in each round")
    parser.add_argument("--their-steps", type=int, default=300, help="steps of other whole commands")
    parser.add_argument("--without-peers", action="store_true", help="only the bare floor and Bridle")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown, and plots beside it")
    given = parser.parse_args()
    contenders, started, missing = enrolled(peers=not given.without_peers)
    rounds(contenders, given)
    whole = measure_commands(started, given.steps, given.their_steps, missing)
    how = f"the best of {given.rounds} rounds; short runs are done {given.again} times in each"
    lines = page(contenders, whole, missing, given.steps, how)
    print("\n".join(lines))
    if given.write is not None:
        given.write.write_text("\n".join(lines))
        draw(contenders, whole, given.write.parent / PLOTS)


if __name__ == "__main__":
    main()
