"""Pure values that do not concern sessions: addresses, media types, secrets, providers, options."""
