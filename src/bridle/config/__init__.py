"""Settings: schema, loading, validation, trust, and import from other programs."""
