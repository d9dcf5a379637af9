"""The terminal as a place to live in: one widget for each kind of part, limits always in sight."""
