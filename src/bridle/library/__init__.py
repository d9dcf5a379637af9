"""The Python API: define an agent with Python functions as tools, and run it."""
