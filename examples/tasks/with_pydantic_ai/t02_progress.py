"""Show the progress of a tool while it runs."""

import asyncio
from dataclasses import dataclass

from pydantic_ai import Agent, CustomEvent, RunContext
from scripted import call, scripted


@dataclass(kw_only=True)
class Progress(CustomEvent):
    text: str


async def pack(ctx: RunContext, parcels: int) -> str:
    """Pack parcels."""
    for number in range(parcels):
        await ctx.emit(Progress(text=f"parcel {number + 1}\n"))
        await asyncio.sleep(0)
    return "packed"


async def main() -> list[str]:
    agent = Agent(scripted([call("pack", parcels=2), "Done."]), tools=[pack])
    async with agent.run_stream_events("Pack.") as events:
        return [event.text async for event in events if isinstance(event, Progress)]


assert "".join(asyncio.run(main())) == "parcel 1\nparcel 2\n"
