"""Tools that raise or take too long: the model reads why, and the run goes on."""

import asyncio

from bridle import Agent, Retry, ScriptedModel, call, tool


@tool(timeout_seconds=0.05)
async def search(words: str) -> str:
    """Search the archive."""
    await asyncio.sleep(60)
    return "found"


@tool
def lookup(city: str) -> str:
    """Look up a city."""
    if city == "Brgen":
        raise Retry("did you mean Bergen?")
    return f"{city}: rain" if city == "Bergen" else str(1 / 0)


calls = [call("search", words="rain"), call("lookup", city="Brgen"), call("lookup", city="Oslo")]
agent = Agent(model=ScriptedModel([calls, "Nothing was found."]), tools=[search, lookup])
result = agent.run_sync("Does it rain?")
late, wrong, broken = [message.text for message in result.messages[2:5]]
assert ("timed out" in late, "Bergen" in wrong, "division" in broken) == (True, True, True), late
assert result.output == "Nothing was found."
