"""Bridle, the bare floor and the peers, interleaved in one run: a table of costs and of ratios."""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from typing import Any

from bench.contender import Contender, installed, report_of
from bench.costs.growth import grown
from bench.costs.page import DEFAULT, OURS as OUR_COMMAND, PLOTS, SHORTER, Measured, draw, page
from bench.costs.streams import stream, streaming
from bench.costs.whole import measured
from bench.starts import Command, commands, opencode, prepare_opencode

SHORT_SECONDS = 3.0

OURS = [
    Contender("bare asyncio loop", "bare.step"),
    Contender("Bridle, memory", "bridle.step", ("--mode", "memory")),
    Contender("Bridle, memory, capped", "bridle.step", ("--mode", "memory", "--capped")),
    Contender("Bridle, SQLite, process", "bridle.step", ("--mode", "process"), durable=True),
    Contender("Bridle, SQLite, power (default)", "bridle.step", ("--mode", "power"), durable=True),
]
PEERS = [
    Contender("agno, memory", "agno.step", needs=("agno",)),
    Contender("pydantic-ai, memory", "pydantic_ai.step", needs=("pydantic-ai-slim",)),
    Contender(
        "langgraph, SQLite saver",
        "langgraph.step",
        needs=("langchain", "langgraph", "langgraph-checkpoint-sqlite"),
        durable=True,
    ),
    Contender("openai-agents, SQLite session", "openai_agents.step", needs=("openai-agents",), durable=True),
    Contender("smolagents, memory", "smolagents.step", needs=("smolagents",)),
    Contender("mini-swe-agent, trajectory", "mini_swe_agent.step", needs=("mini-swe-agent", "mcp")),
]


def enrolled(*, peers: bool) -> tuple[list[Contender], list[Command], list[str]]:
    """Who takes part, with which commands, and who could not."""
    found, missing = installed(PEERS if peers else [])
    started = [command for command in commands() if command.name == OUR_COMMAND]
    if peers:
        problem = prepare_opencode()
        if problem:
            missing.append(f"- OpenCode could not be installed: {problem}")
        else:
            started.append(opencode())
    return [*OURS, *found], started, missing


def rounds(contenders: list[Contender], given: argparse.Namespace) -> None:
    """Run everybody in turn, and those that are quick again and again between the others.

    What else the machine does comes in waves that last longer than a short run, and all should meet its best moments.
    """
    peers = [each for each in contenders if each.needs]
    for number, passing in product(range(given.rounds), range(given.again)):
        print(f"round {number + 1}/{given.rounds}, pass {passing + 1}/{given.again}", file=sys.stderr, flush=True)
        for contender in contenders:
            first = peers.index(contender) % given.again if contender in peers else 0
            run(contender, given.steps, contender.reports, first, passing)
            if contender.durable and given.steps > SHORTER:
                run(contender, SHORTER, contender.shorter, first, passing)


def run(contender: Contender, steps: int, reports: list[dict[str, Any]], first: int, passing: int) -> None:
    """In its first pass, and in all others if that is worth it."""
    if passing == first or (passing > first and reports[-1]["cpu_seconds"] < SHORT_SECONDS):
        reports.append(report_of(contender, steps))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", type=int, default=10, help="passes of a round: how often a short run is done in it")
    parser.add_argument("--command-rounds", type=int, default=3, help="rounds of whole commands")
    parser.add_argument("--their-steps", type=int, default=100, help="steps of other whole commands")
    parser.add_argument("--pieces", type=int, default=20_000, help="pieces of the streamed text")
    parser.add_argument("--without-peers", action="store_true", help="only the bare floor and Bridle")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown, and plots beside it")
    given = parser.parse_args()
    contenders, started, missing = enrolled(peers=not given.without_peers)
    streamed, others = streaming(peers=not given.without_peers)
    rounds(contenders, given)
    # Those of others have fewer steps, since theirs take long.
    wanted = [(each, given.steps if each.name == OUR_COMMAND else given.their_steps) for each in started]
    whole, unfinished = measured(wanted, given.command_rounds)
    keeping = [each for each in contenders if each.name == DEFAULT or (each.needs and each.best("bytes_kept"))]
    growths = grown(keeping, given.steps)
    stream(streamed, given.pieces, given.rounds, given.again)
    how = f"the best of {given.rounds} rounds; short runs are done {given.again} times in each"
    found = Measured(contenders, whole, growths, streamed, given.steps, given.pieces, how, given.command_rounds)
    lines = page(found, list(dict.fromkeys([*missing, *others, *unfinished])))
    print("\n".join(lines))
    if given.write is not None:
        given.write.write_text("\n".join(lines))
        draw(found, given.write.parent / PLOTS)


if __name__ == "__main__":
    main()
