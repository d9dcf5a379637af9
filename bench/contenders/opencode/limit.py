"""OpenCode: `opencode run` in a project with the steps of its agents, the model's window and its own shell."""

import json
import os
import subprocess
from pathlib import Path

from bench.contenders.limit_work import AGAIN, PROMPT, Ask, given

BINARY = Path(__file__).parents[3] / ".bench" / "opencode" / "node_modules" / ".bin" / "opencode"
QUIET = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")


def configure(ask: Ask, project: Path) -> None:
    limits = ask.limits
    model = {"name": "scripted", "tool_call": True, "cost": {"input": 10, "output": 10}}
    if "context" in limits:
        model["limit"] = {"context": limits["context"], "output": 4_000}
    options = {"baseURL": ask.address, "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": model}}
    agents = {"build": {"steps": limits["steps"]}} if "steps" in limits else {}
    if "child_steps" in limits:
        agents["child"] = {"mode": "subagent", "description": "does the work", "steps": limits["child_steps"]}
    settings = {"provider": {"compared": provider}, "agent": agents, "permission": {"bash": "allow", "task": "allow"}}
    (project / "opencode.json").write_text(json.dumps(settings))


def texts(output: str) -> list[str]:
    """The texts of the model, as `--format json` tells them."""
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [event["part"]["text"] for event in found if event.get("type") == "text"]


def main() -> None:
    ask = given()
    configure(ask, ask.data)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(ask.data),
        **{f"OPENCODE_DISABLE_{name}": "1" for name in QUIET},
    }
    words = ["--continue", AGAIN] if ask.resume else ["--title", "compared", PROMPT]
    command = [BINARY, "run", "--model", "compared/scripted", "--format", "json", *words]
    with (ask.data / "output").open("w") as output, (ask.data / "errors").open("w") as errors:
        done = subprocess.run(
            command, cwd=ask.data, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, check=False
        )
    said = texts((ask.data / "output").read_text())
    package = BINARY.parent.parent / "opencode-ai" / "package.json"
    version = json.loads(package.read_text())["version"]
    print(json.dumps({"version": version, "text": said[-1] if said else "", "ended": f"exit status {done.returncode}"}))


if __name__ == "__main__":
    main()
