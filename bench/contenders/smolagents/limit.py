"""smolagents: max_steps of an agent that calls tools, and managed agents."""

from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

from bench.contenders.limit_work import PROMPT, Ask, report


def converse(ask: Ask) -> tuple[str, str]:
    model = OpenAIServerModel("scripted", api_base=ask.address, api_key="none")
    limits, below = ask.limits, []

    @tool
    def act(note: str) -> str:
        """Do something that leaves an effect.

        Args:
            note: what to do
        """
        return ask.act(note)

    quiet = {"verbosity_level": LogLevel.OFF}
    if "child_steps" in limits:
        more = {"name": "child", "description": "does the work", "max_steps": limits["child_steps"]}
        below.append(ToolCallingAgent([act], model, **more, **quiet))
    agent = ToolCallingAgent([act], model, managed_agents=below, max_steps=limits.get("steps", 20), **quiet)
    done = agent.run(PROMPT, return_full_result=True)
    return str(done.output or ""), str(done.state)


if __name__ == "__main__":
    report("smolagents", converse)
