"""Encodings of what leaves the process: journal entries and public events."""
