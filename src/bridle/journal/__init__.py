"""Where sessions are kept: one contract, two implementations."""
