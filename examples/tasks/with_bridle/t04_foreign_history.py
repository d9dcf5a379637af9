"""Continue a conversation of another library, given as JSON of OpenAI's API."""

from bridle import Agent, ScriptedModel, from_openai

history = [
    {"role": "user", "content": "Remember 7."},
    {"role": "assistant", "content": "I will remember."},
]
agent = Agent(model=ScriptedModel(["You said 7."]))
session = agent.begin_sync(from_openai(history))
result = agent.run_sync("What did I say?", session=session)
assert (result.output, len(result.messages)) == ("You said 7.", 4)
