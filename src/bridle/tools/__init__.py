"""Tools that the model can call: built-in tools, Python functions, and tools of a project."""
