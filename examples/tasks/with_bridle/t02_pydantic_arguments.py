"""Tools with pydantic models and constraints: the model reads what does not fit, and tries again."""

from typing import Annotated

from pydantic import BaseModel, Field

from bridle import Agent, ScriptedModel, call, tool


class Address(BaseModel):
    street: str
    number: Annotated[int, Field(gt=0)]


@tool
def send(to: Address, copies: Annotated[int, Field(le=9, description="how many")]) -> Address:
    """Send a letter."""
    return to


wrong = call("send", to={"street": "High Street", "number": -1}, copies=20)
right = call("send", to={"street": "High Street", "number": 1}, copies=2)
agent = Agent(model=ScriptedModel([wrong, right, "Sent."]), tools=[send])
_, _, refused, _, sent, _ = agent.run_sync("Send it.").messages
assert ("number" in refused.text, "copies" in refused.text, '"number":1' in sent.text) == (True, True, True)
