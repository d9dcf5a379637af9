"""Pure values independent of sessions: addresses, media types, secrets, providers and options."""
