"""A lead with two scouts under one budget. Plays scripts: no key is needed."""

from bridle import Agent, Limits, Price, ScriptedCall, ScriptedModel, TreeLimits, call, tool


@tool(repeatable=True)
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def task(prompt: str) -> ScriptedCall:
    return call("task", description="count", prompt=prompt, subagent_type="scout")


price = Price(input=1.0, output=4.0)
scout = Agent(
    "scout",
    description="Counts things and reports the number.",
    model=ScriptedModel([call("count_words", text="one two three"), "There are 3 words."], price=price, ref="small"),
    tools=[count_words],
    steps=4,
)
lead = Agent(
    "lead",
    model=ScriptedModel([[task("Count the first text."), task("Count the second.")], "6 in all."], price=price),
    subagents=[scout],
    limits=Limits(cost=0.25),
    tree=TreeLimits(steps=20, live=2),
)
result = lead.run_sync("How many words are there?")
print(f"{result.reason}: {result.text} {result.tokens} tokens over the whole tree, ${result.cost:.6f}")
