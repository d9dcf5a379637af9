"""An agent with two models whose process dies while the second one is asked; run as a program with a journal file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bridle import Agent, Reply, ScriptedError, ScriptedModel
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import Scripted

NO_KEY = Reply(error=ScriptedError("no such key", status=401))
SESSION = "fallen"


def agent(journal: Path, second: ScriptedModel) -> Agent:
    first = ScriptedModel(then=NO_KEY, ref="first/model")
    return Agent("lead", model=[first, second], journal=journal)


def die(request: ModelRequest) -> Scripted:
    os._exit(9)


if __name__ == "__main__":
    agent(Path(sys.argv[1]), ScriptedModel(die, ref="second/model")).run_sync("go", id=SESSION)
