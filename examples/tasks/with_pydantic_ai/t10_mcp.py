"""Tools of an MCP server that a command starts."""

import sys
from pathlib import Path

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from scripted import call, scripted

Path("weather_server.py").write_text("""
from mcp.server.mcpserver import MCPServer

app = MCPServer("weather")


@app.tool()
def forecast(city: str) -> str:
    return f"rain in {city}"


app.run("stdio")
""")
server = MCPToolset(StdioTransport(sys.executable, ["weather_server.py"])).prefixed("weather")
agent = Agent(scripted([call("weather_forecast", city="Bergen"), "It rains."]), toolsets=[server])
result = agent.run_sync("How is the weather?")
assert (result.all_messages()[2].parts[0].content, result.output) == ("rain in Bergen", "It rains.")
