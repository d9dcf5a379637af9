"""Answers in a type: a pydantic model with a constraint, or none."""

from pydantic import BaseModel, Field
from pydantic_ai import Agent
from scripted import call, scripted


class City(BaseModel):
    name: str
    people: int = Field(gt=0)


class Unknown(BaseModel):
    why: str


wrong = call("final_result_City", name="Bergen", people=-1)
right = call("final_result_City", name="Bergen", people=300_000)
agent = Agent(scripted([wrong, right]), output_type=[City, Unknown])
result = agent.run_sync("Which city?")
assert result.output == City(name="Bergen", people=300_000)
