"""Tools that raise or take too long: the model reads why, and the run goes on."""

import asyncio

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import Hooks
from scripted import call, scripted

hooks = Hooks()
calls = [call("search", words="rain"), call("lookup", city="Brgen"), call("lookup", city="Oslo")]


@hooks.on.tool_execute_error
async def tell(ctx, *, call, tool_def, args, error):
    return f"{type(error).__name__}: {error}"


agent = Agent(scripted([calls, "Nothing was found."]), capabilities=[hooks])


@agent.tool_plain(timeout=0.05)
async def search(words: str) -> str:
    """Search the archive."""
    await asyncio.sleep(60)
    return "found"


@agent.tool_plain
def lookup(city: str) -> str:
    """Look up a city."""
    if city == "Brgen":
        raise ModelRetry("did you mean Bergen?")
    return f"{city}: rain" if city == "Bergen" else str(1 / 0)


result = agent.run_sync("Does it rain?")
late, wrong, broken = [str(part.content) for part in result.all_messages()[2].parts]
assert ("Timed out" in late, "Bergen" in wrong, "division" in broken) == (True, True, True), late
assert result.output == "Nothing was found."
