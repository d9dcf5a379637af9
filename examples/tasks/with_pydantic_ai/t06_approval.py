"""A person approves a call hours later, with other arguments, when another process runs."""

from pathlib import Path

from pydantic_ai import (
    Agent,
    ApprovalRequired,
    ConversationTypeAdapter,
    DeferredToolRequests,
    RunContext,
    ToolApproved,
)
from scripted import call, scripted


def pay(ctx: RunContext, amount: int) -> str:
    """Pay an amount."""
    if amount > 100 and not ctx.tool_call_approved:
        raise ApprovalRequired
    return f"paid {amount}"


def process() -> Agent[object, str | DeferredToolRequests]:
    model = scripted([call("pay", amount=500), "Done."])
    return Agent(model, tools=[pay], output_type=[str, DeferredToolRequests])


paused = process().run_sync("Pay 500.")
Path("paused.json").write_bytes(ConversationTypeAdapter.dump_json(paused.conversation))

conversation = ConversationTypeAdapter.validate_json(Path("paused.json").read_bytes())
asked = conversation.deferred_tool_requests
approved = ToolApproved(override_args={"amount": 50})
results = asked.build_results(approvals={asked.approvals[0].tool_call_id: approved})
result = process().run_sync(conversation=conversation, deferred_tool_results=results)
assert (result.output, result.all_messages()[2].parts[0].content) == ("Done.", "paid 50")
