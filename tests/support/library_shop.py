"""An agent with dependencies whose process can be killed in the middle of a call."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle import Agent, Context, ScriptedModel, call, tool
from bridle.testing.scripted import ScriptedCall


@dataclass
class Shop:
    """The dependencies of the agent."""

    name: str
    orders: list[Any] = field(default_factory=list)


@tool
async def order(ctx: Context[Shop], item: str) -> str:
    """Order an item."""
    if item == "jam" and os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{ctx.deps.name} sends {item}"


def agent(path: str | Path, **more: Any) -> Agent[Shop, str]:
    """Return the agent, whose model orders tea and jam."""
    replies: list[ScriptedCall | str] = [call("order", item="tea"), call("order", item="jam"), "sent"]
    return Agent[Shop, str]("shop", model=ScriptedModel(replies), tools=[order], journal=path, **more)
