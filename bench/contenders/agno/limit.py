"""agno: its tool_call_limit, and its SQLite database with a checkpoint after each batch of calls."""

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat

from bench.contenders.limit_work import PROMPT, Ask, report

RUN = "compared"


def converse(ask: Ask) -> tuple[str, str]:
    model = OpenAIChat("scripted", base_url=ask.address, api_key="none")

    def act(note: str) -> str:
        """Do something that leaves an effect."""
        return ask.act(note)

    agent = Agent(
        model=model,
        tools=[act],
        tool_call_limit=ask.limits.get("tool_calls"),
        db=SqliteDb(db_file=str(ask.data / "agno.db")),
        checkpoint="tool-batch",
        session_id=RUN,
        telemetry=False,
    )
    done = agent.continue_run(run_id=RUN, session_id=RUN) if ask.resume else agent.run(PROMPT, run_id=RUN)
    failed = str(done.status.value) == "ERROR"
    return "" if failed else str(done.content or ""), str(done.status.value)


if __name__ == "__main__":
    report("agno", converse)
