"""Stream an agent's events to a browser; a client that disconnects stops the agent."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from bridle import Agent, ScriptedModel

agent = Agent(model=ScriptedModel(["Hello from Bergen."]))


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(agent.stream((await request.json())["prompt"]).sse(), media_type="text/event-stream")


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
answer = TestClient(app).post("/chat", json={"prompt": "Hello!"})
assert (answer.text.startswith("data: {"), "Bergen" in answer.text) == (True, True)
