"""Builds the setup of a turn from settings and files: its model, tools, permissions, limits and prompts."""
