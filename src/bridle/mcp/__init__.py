"""Client for tool servers that speak the Model Context Protocol (MCP)."""
