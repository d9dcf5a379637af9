"""What the contenders of the comparison of limits share: effects, what is asked for, and what is said in the end.

An adapter gets the address of the provider, a folder of its own and the limits that are asked for, as JSON; it leaves
an effect for each call, and prints one line of JSON when it has ended.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROMPT = "Go on with act until all is done."
AGAIN = "continue"
DYING_SECONDS = 10.0


@dataclass(frozen=True)
class Ask:
    """What a row asks for."""

    address: str
    data: Path
    limits: dict[str, Any]
    resume: bool

    def act(self, note: str) -> str:
        """Leave an effect, and say what a command would print."""
        path = self.data / "effects"
        with path.open("a") as file:
            file.write(note.rstrip() + "\n")
        if note.startswith("die"):
            time.sleep(DYING_SECONDS)
        if note.startswith("poll"):
            return f"{len(path.read_text().splitlines())} lines"
        return "a long line of output " * 2_000 if note.startswith("long") else "nothing new"


def given() -> Ask:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limits", type=json.loads, default={})
    parser.add_argument("--resume", action="store_true")
    ask = parser.parse_args()
    return Ask(ask.address, ask.data, ask.limits, ask.resume)


def report(package: str, converse: Callable[[Ask], tuple[str, str]]) -> None:
    """Converse, and print the text and the reason or the exception with which that ended."""
    os.environ.update(OPENAI_API_KEY="none", OPENAI_AGENTS_DISABLE_TRACING="1", AGNO_TELEMETRY="false")
    try:
        text, ended = converse(given())
    except Exception as error:
        # Exceptions are how many contenders say that a limit was reached.
        text, ended = "", type(error).__name__
        print(error, file=sys.stderr)
    print(json.dumps({"version": version(package), "text": text, "ended": ended}), flush=True)
