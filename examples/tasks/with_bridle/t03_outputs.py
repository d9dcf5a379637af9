"""Answers in a type: a pydantic model with a constraint, or none."""

from pydantic import BaseModel, Field

from bridle import Agent, ScriptedModel, call


class City(BaseModel):
    name: str
    people: int = Field(gt=0)


class Unknown(BaseModel):
    why: str


wrong = call("structured_output", name="Bergen", people=-1)
right = call("structured_output", name="Bergen", people=300_000)
agent = Agent(model=ScriptedModel([wrong, right]), output=City | Unknown)
result = agent.run_sync("Which city?")
assert result.output == City(name="Bergen", people=300_000)
