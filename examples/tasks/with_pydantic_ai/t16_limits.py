"""A limit ends a run with an answer and a reason."""

from pydantic_ai import Agent, UsageLimitExceeded, UsageLimits, capture_run_messages
from scripted import call, scripted


def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}: nothing"


model = scripted(lambda messages, info: call("look", page=len(messages)) if info.function_tools else "Not found.")
agent = Agent(model, tools=[look])
with capture_run_messages() as messages:
    try:
        output = agent.run_sync("Find it.", usage_limits=UsageLimits(request_limit=2), timeout=60).output
    except UsageLimitExceeded:
        # The answer takes another request, without tools.
        output = Agent(model).run_sync("Answer now.", message_history=messages).output
assert output == "Not found."
