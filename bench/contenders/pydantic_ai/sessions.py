"""pydantic-ai on DBOS: a session is a workflow; its requests and calls are steps of it, with the default settings."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, UsageLimits
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models import Model

from bench.contenders.session_work import ANSWER, TEXT, Run, Work, add_up, arguments_of, measure


class FakeModel(Model):
    """Not FunctionModel, which counts the whole history again on every request."""

    model_name = "fake"
    system = "fake"

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    async def request(self, messages, model_settings, model_request_parameters) -> ModelResponse:
        done = len(messages) // 2
        if done >= self.steps:
            return ModelResponse([TextPart(ANSWER)])
        call = ToolCallPart("add", json.dumps(arguments_of(done)), f"call_{done}")
        return ModelResponse([TextPart(TEXT), call])


@asynccontextmanager
async def opened(work: Work) -> AsyncIterator[Run]:
    DBOS(config={"name": "bench", "system_database_url": work.database, "log_level": "WARNING"})
    # The documentation has tools as steps, so that a call is not run again after a crash.

    @DBOS.step()
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return add_up(a, b)

    agent = Agent(FakeModel(work.steps), name="adder", tools=[add], capabilities=[DBOSDurability()])

    @DBOS.workflow()
    async def converse() -> str:
        return str((await agent.run("Add.", usage_limits=UsageLimits(request_limit=None))).output)

    DBOS.launch()

    async def run(name: str) -> str:
        with SetWorkflowID(name):
            return await converse()

    try:
        yield run
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    measure("dbos", opened)
