"""Test an agent without tokens: replace its model, and see what it was asked."""

from bridle import Agent, ScriptedModel, call


def weather(city: str) -> str:
    """Say what the weather is."""
    return f"rain in {city}"


agent = Agent(model="anthropic/claude-opus-4-7", instructions="You know the weather.", tools=[weather])

model = ScriptedModel([call("weather", city="Bergen"), "It rains."])
with agent.override(model=model):
    assert agent.run_sync("How is it?").output == "It rains."
assert model.requests[1].messages[-1].text == "rain in Bergen"
