"""Assembles the setup of a turn from settings and files: model, tools, permissions, limits and prompts."""
