"""Two agents, one of which hands over to the other, in a process that dies around the handoff."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from bridle import Agent, Context, ScriptedModel, call, tool
from bridle.core.stream import ModelRequest, StreamEvent

SESSION = "h1"
POINTS = ("triage instructions", "billing instructions", "billing request", "charge", "billing answer")


def pass_point(point: str) -> None:
    """Kill this process if it is to die here."""
    if os.environ.get("DIES_AT") == point:
        os.kill(os.getpid(), signal.SIGKILL)


class MortalModel(ScriptedModel):
    """A scripted model; the process dies when it gets a request."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        answers = any(getattr(message, "name", "") == "charge" for message in request.messages)
        pass_point("billing answer" if answers else "billing request")
        async for event in super().stream(request):
            yield event


@tool(repeatable=True)
def charge(ctx: Context[str], amount: int) -> str:
    """Charge an amount."""
    pass_point("charge")
    return f"{ctx.agent} charged {amount} to {ctx.deps}"


def agents(journal: Path, **more: Any) -> Agent[str, str]:
    """Return the agent that hands over."""

    def customer(metadata: Mapping[str, Any]) -> str:
        return str(metadata["customer"])

    def triage_words(ctx: Context[str]) -> str:
        pass_point("triage instructions")
        return f"You sort for {ctx.deps}."

    def billing_words(ctx: Context[str]) -> str:
        pass_point("billing instructions")
        return f"You bill {ctx.deps}, as {ctx.agent}."

    billing = Agent[str, str](
        "billing",
        model=MortalModel([call("charge", amount=5), "It is paid."], ref="m/billing"),
        instructions=billing_words,
        tools=[charge],
    )
    return Agent[str, str](
        "triage",
        model=ScriptedModel([call("transfer_to_billing")], ref="m/triage"),
        instructions=triage_words,
        handoffs=[billing],
        deps=customer,
        journal=journal,
        **more,
    )


if __name__ == "__main__":
    asyncio.run(agents(Path(sys.argv[1])).run("Pay 5.", id=SESSION, metadata={"customer": "Ann"}))
