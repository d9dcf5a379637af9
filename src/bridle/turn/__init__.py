"""The agent loop, and its effects: model requests, tool calls, records."""
