"""JSON encodings of data that leaves the process: journal entries and public events."""
