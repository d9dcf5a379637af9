"""Clients see MCP servers with their state, and the prompts of those that are connected as slash commands."""

import asyncio

from support.mcp_world import World, stdio

from bridle.config.settings import McpServer
from bridle.runtime.project_views import SlashCommand

OWN = ["init", "memory", "review"]
"""The prompts that every project has."""


def test_servers_are_told_as_they_are_found_and_their_prompts_are_commands(place):
    broken = McpServer(command=["/nonexistent/server", "--token", "hunter2"])
    odd = McpServer(url="http://127.0.0.1:9/it's?token=hunter3")
    world = World(place, stable=stdio(), broken=broken, odd=odd)

    async def work():
        async with world.runtime() as runtime:
            assert [each.name for each in await runtime.slash_commands()] == OWN
            rows = {row.name: row for row in await runtime.mcp_servers()}
            assert rows["stable"].problem == "" and rows["stable"].tools
            assert rows["broken"].problem and not rows["broken"].tools
            assert rows["odd"].where == "http://127.0.0.1:9/it's?token=[redacted]"
            assert "hunter2" not in repr(rows) and "hunter3" not in repr(rows)
            (command, *_) = [each for each in await runtime.slash_commands() if each.name not in OWN]
            assert (command.server, command.name.startswith("stable:")) == ("stable", True)
            assert isinstance(command, SlashCommand)
        async with World(place).runtime() as runtime:
            assert await runtime.mcp_servers() == []
            assert [each.name for each in await runtime.slash_commands()] == OWN

    asyncio.run(work())
