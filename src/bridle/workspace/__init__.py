"""The project's files, and what lies beyond them."""
