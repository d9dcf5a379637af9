"""Storage of sessions: one contract, implemented in memory and in SQLite."""
