"""Check an answer with the program's own function, and have the model try again."""

from dataclasses import dataclass

from pydantic_ai import Agent, ModelRetry, RunContext
from scripted import call, scripted


@dataclass
class Choice:
    city: str


answers = [call("final_result", city="Brgen"), call("final_result", city="Bergen")]
agent = Agent(scripted(answers), deps_type=set[str], output_type=Choice)


@agent.output_validator
def known(ctx: RunContext[set[str]], choice: Choice) -> Choice:
    if choice.city not in ctx.deps:
        raise ModelRetry(f"choose one of {sorted(ctx.deps)}")
    return choice


result = agent.run_sync("Which city?", deps={"Bergen", "Oslo"})
assert (result.output, result.usage.requests) == (Choice("Bergen"), 2)
