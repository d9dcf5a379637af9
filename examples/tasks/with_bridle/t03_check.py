"""Check an answer with the program's own function, and have the model try again."""

from dataclasses import dataclass

from bridle import Agent, Context, Retry, ScriptedModel, call


@dataclass
class Choice:
    city: str


def known(ctx: Context[set[str]], choice: Choice) -> Choice:
    if choice.city not in ctx.deps:
        raise Retry(f"choose one of {sorted(ctx.deps)}")
    return choice


answers = [call("structured_output", city="Brgen"), call("structured_output", city="Bergen")]
agent = Agent[set[str], Choice](model=ScriptedModel(answers), output=Choice, check=known)
result = agent.run_sync("Which city?", deps={"Bergen", "Oslo"})
assert (result.output, result.steps) == (Choice("Bergen"), 2)
