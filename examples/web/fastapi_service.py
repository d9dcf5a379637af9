"""A FastAPI service: answers are streamed, and payments wait until a person approves them.

Plays a script, so no key is needed:

uvicorn --app-dir examples/web fastapi_service:app
curl -N localhost:8000/chat -H 'content-type: application/json' -d '{"prompt": "Pay Ann 500."}'
curl localhost:8000/sessions/SESSION/asks/ASK -H 'content-type: application/json' -d '{"answer": "once"}'
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from bridle import Agent, ConfigError, Limits, ModelRequest, Price, Reply, ScriptedModel, call, tool


@tool(needs=lambda amount, to: amount > 100)
def pay(amount: int, to: str) -> str:
    """Pay an amount to a person."""
    return f"paid {amount} to {to}"


def script(request: ModelRequest) -> Reply:
    if len(request.messages) == 1:
        return Reply(text="I pay Ann. ", chunk=4, pace=0.1, calls=(call("pay", amount=500, to="Ann"),))
    return Reply(text="It is paid, thank you.", chunk=4, pace=0.1)


agent = Agent(
    "payments",
    model=ScriptedModel(script, price=Price(input=1.0, output=4.0)),
    instructions="You pay bills.",
    tools=[pay],
    limits=Limits(steps=10, cost=0.10),
    # A paused run has to be found again after a restart, by any worker.
    journal=os.environ.get("JOURNAL", "payments.db"),
    on_ask="pause",
)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Requests share the agent's connections. Runs that go on at a shutdown are recorded as aborted.
    async with agent:
        yield


app = FastAPI(lifespan=lifespan)


class Prompt(BaseModel):
    prompt: str
    session: str | None = None


class Answer(BaseModel):
    answer: Literal["once", "reject"]


class Outcome(BaseModel):
    reason: str
    text: str
    asks: list[str]


@app.post("/chat")
async def chat(given: Prompt) -> StreamingResponse:
    # A client that disconnects aborts its run.
    events = agent.stream(given.prompt, session=given.session).sse()
    return StreamingResponse(events, media_type="text/event-stream")


@app.post("/sessions/{session}/asks/{ask}")
async def answer(session: str, ask: str, given: Answer) -> Outcome:
    try:
        result = await agent.answer(session, ask, given.answer)
    except ConfigError as error:
        # For example the second click on a button.
        raise HTTPException(409, str(error)) from error
    return Outcome(reason=result.reason, text=result.text, asks=[each.id for each in result.asks])
