"""Engines, which drive sessions: wakes are coalesced, and each session is driven by one task at a time."""
