"""Where settings come from, and what they mean."""
