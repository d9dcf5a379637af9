"""Pure core of the agent loop: no I/O, no async, no clock, no randomness."""
