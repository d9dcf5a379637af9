"""Who drives sessions: woken, coalesced, one at a time for each session."""
