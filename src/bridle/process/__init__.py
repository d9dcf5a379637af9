"""Subprocesses of tool calls: sandbox, egress proxy, supervisor, and protected files."""
