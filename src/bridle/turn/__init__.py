"""The agent loop and its effects (what `decide` only names): model requests, tool calls, records."""
