"""Test an agent without tokens: replace its model, and see what it was asked."""

from pydantic_ai import Agent, capture_run_messages
from scripted import call, scripted


def weather(city: str) -> str:
    """Say what the weather is."""
    return f"rain in {city}"


agent = Agent("openai:gpt-5.2", instructions="You know the weather.", tools=[weather], defer_model_check=True)

model = scripted([call("weather", city="Bergen"), "It rains."])
with agent.override(model=model), capture_run_messages() as messages:
    assert agent.run_sync("How is it?").output == "It rains."
assert messages[2].parts[0].content == "rain in Bergen"
