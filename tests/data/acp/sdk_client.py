"""A client with the Python SDK of the Agent Client Protocol: its typed models refuse what is malformed."""

import asyncio
import json
import os
import sys
from pathlib import Path

from acp import PROTOCOL_VERSION, Client, RequestPermissionResponse, spawn_agent_process, text_block
from acp.schema import AllowedOutcome

COMMAND, STORY = sys.argv[1:]
HERE = str(Path.cwd())


class Person(Client):
    """Answers permission requests with what is given, or never."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = asyncio.Event()
        self.updates = []

    async def request_permission(self, session_id, tool_call, options, **more):
        self.asked.set()
        tell("asked", tool_call.title, [option.kind for option in options])
        if self.answer is None:
            await asyncio.Event().wait()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.answer))

    async def session_update(self, session_id, update, **more):
        self.updates.append(update)

    def text(self):
        chunks = (each for each in self.updates if each.session_update == "agent_message_chunk")
        return "".join(each.content.text for each in chunks)


def tell(*words):
    print(json.dumps(words), flush=True)


def environment():
    return dict(os.environ)


async def connected(person, work):
    async with spawn_agent_process(person, COMMAND, env=environment(), cwd=HERE) as (agent, process):
        found = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        tell("initialized", found.agent_info.name, found.protocol_version)
        return await work(agent, process)


async def whole():
    """Everything of a session: a turn with an edit that is allowed, modes, options, lists, closing and deleting."""
    person = Person("once")

    async def work(agent, process):
        made = await agent.new_session(cwd=HERE, mcp_servers=[])
        tell("modes", sorted(mode.id for mode in made.modes.available_modes))
        ended = await agent.prompt(session_id=made.session_id, prompt=[text_block("Go")])
        tell("ended", ended.stop_reason, person.text())
        tell("kinds", sorted({each.session_update for each in person.updates}))
        await agent.set_session_mode(session_id=made.session_id, mode_id="plan")
        options = await agent.set_config_option(config_id="mode", session_id=made.session_id, value="build")
        tell("mode", {each.id: each.current_value for each in options.config_options}["mode"])
        listed = await agent.list_sessions(cwd=HERE)
        tell("listed", [each.session_id == made.session_id for each in listed.sessions])
        await agent.close_session(session_id=made.session_id)

    await connected(person, work)


async def killed():
    """The agent is killed with an open ask; another process asks again after the load, and the turn goes on."""
    first, second = Person(None), Person("once")

    async def begin(agent, process):
        made = await agent.new_session(cwd=HERE, mcp_servers=[])
        turn = asyncio.ensure_future(agent.prompt(session_id=made.session_id, prompt=[text_block("Go")]))
        await first.asked.wait()
        process.kill()
        await process.wait()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        return made.session_id

    async def again(agent, process):
        await agent.load_session(cwd=HERE, session_id=session, mcp_servers=[])
        async with asyncio.timeout(120):
            while "All done." not in second.text():
                await asyncio.sleep(0.02)
        tell("ended", second.text())

    session = await connected(first, begin)
    await connected(second, again)


async def cancelled():
    """A turn that waits for a permission is cancelled."""
    person = Person(None)

    async def work(agent, process):
        made = await agent.new_session(cwd=HERE, mcp_servers=[])
        turn = asyncio.ensure_future(agent.prompt(session_id=made.session_id, prompt=[text_block("Go")]))
        await person.asked.wait()
        await agent.cancel(session_id=made.session_id)
        tell("ended", (await turn).stop_reason)

    await connected(person, work)


asyncio.run({"whole": whole, "killed": killed, "cancelled": cancelled}[STORY]())
