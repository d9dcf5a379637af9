"""Tools with pydantic models and constraints: the model reads what does not fit, and tries again."""

from typing import Annotated

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRequest
from scripted import call, scripted


class Address(BaseModel):
    street: str
    number: Annotated[int, Field(gt=0)]


def send(to: Address, copies: Annotated[int, Field(le=9, description="how many")]) -> Address:
    """Send a letter."""
    return to


wrong = call("send", to={"street": "High Street", "number": -1}, copies=20)
right = call("send", to={"street": "High Street", "number": 1}, copies=2)
agent = Agent(scripted([wrong, right, "Sent."]), tools=[send])
messages = agent.run_sync("Send it.").all_messages()
_, refused, sent = [str(message.parts[0]) for message in messages if isinstance(message, ModelRequest)]
assert ("number" in refused, "copies" in refused, "number=1" in sent) == (True, True, True)
