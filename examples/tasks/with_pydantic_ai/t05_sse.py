"""Stream an agent's events to a browser; a client that disconnects stops the agent."""

from pydantic_ai import Agent
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from scripted import scripted
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

agent = Agent(scripted(["Hello from Bergen."]))


async def chat(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(request, agent=agent)


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
prompt = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello!"}]}
answer = TestClient(app).post("/chat", json={"trigger": "submit-message", "id": "chat", "messages": [prompt]})
assert (answer.text.startswith("data: {"), "Bergen" in answer.text) == (True, True)
