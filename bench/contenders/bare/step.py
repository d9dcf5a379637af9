"""The floor: a bare asyncio loop with a list of messages, that keeps nothing and checks nothing."""

import asyncio
import json
from pathlib import Path

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


async def model(messages: list[dict], steps: int) -> dict:
    number = begin_request()
    if number > steps:
        return {"role": "assistant", "content": "done"}
    function = {"name": "add", "arguments": json.dumps(arguments_of(number))}
    return {"role": "assistant", "content": TEXT, "tool_calls": [{"id": f"call_{number}", "function": function}]}


async def converse(steps: int) -> str:
    messages: list[dict] = [{"role": "user", "content": "Add."}]
    while True:
        reply = await model(messages, steps)
        messages.append(reply)
        if "tool_calls" not in reply:
            return str(reply["content"])
        for call in reply["tool_calls"]:
            output = add_up(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})


def main(steps: int, data: Path) -> str:
    return asyncio.run(converse(steps))


if __name__ == "__main__":
    measure("", main)
