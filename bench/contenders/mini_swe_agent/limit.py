"""mini-swe-agent: its limits on steps, cost and time; its only tool is a shell."""

import json
import os

os.environ.update(MSWEA_SILENT_STARTUP="1", LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_API_KEY="none")

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

from bench.contenders.limit_work import PROMPT, Ask, report

PRICE = 10.0 / 1e6


def converse(ask: Ask) -> tuple[str, str]:
    registry, limits = ask.data / "registry.json", ask.limits
    price = {
        "input_cost_per_token": PRICE,
        "output_cost_per_token": PRICE,
        "litellm_provider": "openai",
        "mode": "chat",
    }
    registry.write_text(json.dumps({"openai/scripted": price}))
    model = LitellmModel(
        model_name="openai/scripted", model_kwargs={"api_base": ask.address}, litellm_model_registry=registry
    )
    agent = DefaultAgent(
        model,
        LocalEnvironment(cwd=str(ask.data)),
        system_template="You work.",
        instance_template="{{task}}",
        step_limit=limits.get("steps", 0),
        cost_limit=limits.get("cost", 0),
        wall_time_limit_seconds=limits.get("seconds", 0),
    )
    done = agent.run(PROMPT)
    return str(done.get("submission", "")), str(done.get("exit_status", ""))


if __name__ == "__main__":
    report("mini-swe-agent", converse)
