"""Continue a conversation of another library, given as JSON of OpenAI's API."""

from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart
from scripted import scripted

history = [
    {"role": "user", "content": "Remember 7."},
    {"role": "assistant", "content": "I will remember."},
]
agent = Agent(scripted(["", "You said 7."]))
messages = [
    ModelRequest.user_text_prompt(message["content"])
    if message["role"] == "user"
    else ModelResponse([TextPart(message["content"])])
    for message in history
]
result = agent.run_sync("What did I say?", message_history=messages)
assert (result.output, len(result.all_messages())) == ("You said 7.", 4)
