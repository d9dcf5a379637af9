"""The pure core: no I/O, no async, no clock, no randomness."""
