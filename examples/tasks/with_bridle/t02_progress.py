"""Show the progress of a tool while it runs."""

import asyncio

from bridle import Agent, Context, DeltaEvent, ScriptedModel, call, tool


@tool
async def pack(ctx: Context, parcels: int) -> str:
    """Pack parcels."""
    for number in range(parcels):
        ctx.progress(f"parcel {number + 1}\n")
        await asyncio.sleep(0)
    return "packed"


async def main() -> list[str]:
    agent = Agent(model=ScriptedModel([call("pack", parcels=2), "Done."]), tools=[pack])
    async with agent.stream("Pack.") as stream:
        return [event.text async for event in stream if isinstance(event, DeltaEvent) and event.kind == "output"]


assert "".join(asyncio.run(main())) == "parcel 1\nparcel 2\n"
