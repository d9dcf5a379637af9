"""Inputs that nobody would write, one harness for each boundary; see `scripts/fuzz`."""
