"""Storage of sessions: one contract, implemented in memory, in SQLite and on PostgreSQL."""
