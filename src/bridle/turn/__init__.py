"""The loop and what it does to the world."""
