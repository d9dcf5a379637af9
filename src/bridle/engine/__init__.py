"""Engines decide when and in which process the turns of a session run; at most one process at a time runs them."""
