"""Tools of an MCP server that a command starts."""

import sys
from pathlib import Path

from bridle import Agent, McpServer, Rule, ScriptedModel, Settings, call

Path("weather_server.py").write_text("""
from mcp.server.mcpserver import MCPServer

app = MCPServer("weather")


@app.tool()
def forecast(city: str) -> str:
    return f"rain in {city}"


app.run("stdio")
""")
model = ScriptedModel([call("weather_forecast", city="Bergen"), "It rains."])
servers = {"weather": McpServer(command=[sys.executable, "weather_server.py"])}
allowed = [Rule("weather_*", "*", "allow")]
agent = Agent(model=model, mcp=servers, permission=allowed, settings=Settings(mcp={"start_wait": 60}))
result = agent.run_sync("How is the weather?")
assert (result.messages[2].text, result.output) == ("rain in Bergen", "It rains.")
