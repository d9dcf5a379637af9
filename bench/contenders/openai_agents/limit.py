"""openai-agents: max_turns of a run, agents as tools, and its SQLite session."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, SQLiteSession, function_tool
from openai import AsyncOpenAI

from bench.contenders.limit_work import AGAIN, PROMPT, Ask, report


async def work(ask: Ask) -> str:
    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=ask.address, api_key="none"))
    limits, tools = ask.limits, []

    @function_tool
    async def act(note: str) -> str:
        """Do something that leaves an effect."""
        return await asyncio.to_thread(ask.act, note)

    if "child_steps" in limits:
        worker = Agent("child", model=model, tools=[act])
        tools.append(worker.as_tool("child", "Let somebody else do it.", max_turns=limits["child_steps"]))
    agent = Agent("parent", model=model, tools=[act, *tools])
    session = SQLiteSession("compared", ask.data / "session.db")
    config = RunConfig(tracing_disabled=True)
    prompt = AGAIN if ask.resume else PROMPT
    done = await Runner.run(agent, prompt, session=session, max_turns=limits.get("steps"), run_config=config)
    return str(done.final_output)


def converse(ask: Ask) -> tuple[str, str]:
    return asyncio.run(work(ask)), "finished"


if __name__ == "__main__":
    report("openai-agents", converse)
