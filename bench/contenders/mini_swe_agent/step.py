"""mini-swe-agent, with its trajectory kept in a file; its shell is replaced, since starting commands is no overhead."""

import os
from pathlib import Path
from typing import Any

os.environ.update(MSWEA_SILENT_STARTUP="1")

from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import Submitted

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


class FakeModel:
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def query(self, messages: list[dict[str, Any]], **_: object) -> dict[str, Any]:
        number = begin_request()
        if number > self.steps:
            return {"role": "assistant", "content": "done", "extra": {"actions": [{"submit": "done"}], "cost": 0.0}}
        action = {**arguments_of(number), "tool_call_id": f"call_{number}"}
        return {"role": "assistant", "content": TEXT, "extra": {"actions": [action], "cost": 0.0}}

    def format_message(self, **message: Any) -> dict[str, Any]:
        return message

    def format_observation_messages(self, message, outputs, variables=None) -> list[dict[str, Any]]:
        return [{"role": "tool", "tool_call_id": "", "content": output["output"]} for output in outputs]

    def get_template_vars(self, **_: object) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        return {}


class FakeShell:
    def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
        if "submit" in action:
            given = {"exit_status": "Submitted", "submission": action["submit"]}
            raise Submitted({"role": "exit", "content": action["submit"], "extra": given})
        return {"output": add_up(action["a"], action["b"]), "returncode": 0, "exception_info": ""}

    get_template_vars = FakeModel.get_template_vars
    serialize = FakeModel.serialize


def main(steps: int, data: Path) -> str:
    templates = {"system_template": "You add.", "instance_template": "{{task}}"}
    agent = DefaultAgent(FakeModel(steps), FakeShell(), output_path=data / "trajectory.json", cost_limit=0, **templates)
    return str(agent.run("Add.")["submission"])


if __name__ == "__main__":
    measure("mini-swe-agent", main)
